// SPDX-License-Identifier: Apache-2.0
#include "data/fetch.hpp"

#include <optional>

#include "curl.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "text.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

// Exit codes of curl: the server cannot go on in the middle of a file.
constexpr int kHttpError = 22, kRangeError = 33, kBadResume = 36;

std::optional<std::string> checksum_of(const fs::path& path, bool text) {
  try {
    return content_sha256(read_file(path), text);
  } catch (const Error&) {  // missing, or a damaged .gz
    return std::nullopt;
  }
}

bool cannot_resume(const CurlResult& result) {
  return result.code == kRangeError || result.code == kBadResume ||
         (result.code == kHttpError && result.message.find("416") != std::string::npos);
}

struct Attempt {
  bool good = false, wrong_content = false;
  std::string reason = {};
};

// Leaves a part that may be resumed, and removes one whose content is wrong.
Attempt try_url(const std::string& url, const KnownFile& file, const fs::path& part) {
  std::error_code ignored;
  bool resumed = fs::exists(part, ignored) && fs::file_size(part, ignored) > 0;
  if (resumed && checksum_of(part, file.text) == file.sha256) return {.good = true};
  while (true) {
    const auto result = run_curl(url, part);
    if (result.code != 0 && !(resumed && cannot_resume(result)))
      return {.reason = url + ": " +
                        (result.message.empty() ? concat("curl failed with code ", result.code)
                                                : result.message)};
    const auto found = checksum_of(part, file.text);
    if (result.code == 0 && found == file.sha256) return {.good = true};
    fs::remove(part, ignored);
    if (!resumed)
      return {.wrong_content = true,
              .reason = url + ": expected content with sha256 " + file.sha256 + ", found " +
                        found.value_or("a damaged file") + "; the download was removed"};
    resumed =
        false;  // the part it went on from was not a part of this file: once more from the start
  }
}

}  // namespace

std::string content_sha256(std::string_view bytes, bool text) {
  if (!text) return sha256_hex(bytes);
  std::string normal;
  normal.reserve(bytes.size() + 1);
  LineReader lines(bytes);
  while (const auto line = lines.next()) {
    const auto last = line->find_last_not_of(kBlanks);
    normal += line->substr(0, last == line->npos ? 0 : last + 1);
    normal += '\n';
  }
  return sha256_hex(normal);
}

bool fetch_file(const KnownFile& file, const fs::path& folder) {
  const auto target = folder / file.name;
  if (checksum_of(target, file.text) == file.sha256) return false;
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  require(!error, ErrorKind::io, "cannot create the folder ", target.parent_path().string(), ": ",
          error.message());
  auto part = target;
  part += ".part";
  bool wrong_content = false;
  std::string reasons;
  for (const auto& url : file.urls) {
    const auto attempt = try_url(url, file, part);
    if (attempt.good) {
      fs::rename(part, target, error);
      require(!error, ErrorKind::io, "cannot write ", target.string(), ": ", error.message());
      return true;
    }
    wrong_content |= attempt.wrong_content;
    reasons += "\n  " + attempt.reason;
  }
  fail(wrong_content ? ErrorKind::io : ErrorKind::network, "cannot fetch ", file.name, ":", reasons,
       "\nTo go without a network, put the file (as it is or as .gz) into ", folder.string(),
       ", or into any folder that the variable PORTER_DATA names.");
}

}  // namespace porter
