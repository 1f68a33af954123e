// SPDX-License-Identifier: Apache-2.0
#include "png.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

// False if the program is not there or did not like the file.
bool convert(const fs::path& svg, const fs::path& png) {
  std::vector<std::string> words = {"rsvg-convert", "--zoom=2", "--output", png.string(),
                                    svg.string()};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environ) != 0)
    return false;
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::size_t write_pngs(const fs::path& folder) {
  if (!fs::is_directory(folder)) return 0;
  std::vector<fs::path> drawings;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".svg") drawings.push_back(entry.path());
  std::size_t written = 0;
  for (const auto& svg : drawings) {
    if (!convert(svg, fs::path(svg).replace_extension(".png"))) break;
    ++written;
  }
  return written;
}

}  // namespace porter::cli
