// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "commands.hpp"
#include "core/registry.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "progress.hpp"
#include "report/page.hpp"
#include "reproduce/closed_forms.hpp"
#include "reproduce/report.hpp"
#include "run_one.hpp"

namespace porter::cli {
namespace {

namespace fs = std::filesystem;

struct ReproduceArguments {
  std::vector<std::string> names;
  std::string out = "runs/reproduce";
  bool list = false, quick = false, force = false;
  std::size_t threads = 0;
  std::optional<std::uint32_t> seeds;
  OrdersRequest orders;
};

/// One name of the command: a formula that is evaluated, or a file whose runs are trained.
struct Entry {
  std::string name, title;
  std::function<StudyReport()> closed_form = {};
  std::string text = {};  // the file
  fs::path file = {};     // as it was given; empty: built in
};

std::string given(const Entry& entry) {
  return entry.file.empty() ? entry.name : entry.file.string();
}

std::vector<Entry> built_in(const ReproduceArguments& options) {
  std::vector<Entry> entries = {
      {"fig1", "Figure 1: the two clipping operators", clipping_report},
      {"table1", "Table 1: utility and communication, orders (--m, --n, --d, --epsilon, ...)",
       [&options] { return orders_report(options.orders); }},
      {"privacy", "What the paper's noise is worth, in its own 16 settings", privacy_report}};
  for (const auto& file : study_files())
    entries.push_back(
        {.name = file.name, .title = study_title(file.text, file.name), .text = file.text});
  return entries;
}

void print_list(const std::vector<Entry>& entries) {
  std::size_t width = 0;
  for (const auto& entry : entries) width = std::max(width, entry.name.size());
  for (const auto& entry : entries) fmt::print("  {:<{}}  {}\n", entry.name, width, entry.title);
  fmt::print(
      "\n{} reproduce NAME... runs some, {} reproduce all everything; --quick is a small "
      "version.\n",
      command_name(), command_name());
}

Entry file_entry(const std::string& path) {
  const fs::path file(path);
  return {
      .name = file.stem().string(), .title = {}, .text = read_file(file, 1U << 20), .file = file};
}

// "soteria" stands for "soteria-a9a" and the like.
bool stands_for(const std::string& name, const Entry& entry) {
  return name == "all" || name == entry.name || entry.name.starts_with(name + "-");
}

// In the order asked for, none twice. The folders of two files of one name would be one.
std::vector<Entry> chosen(const std::vector<Entry>& all, const std::vector<std::string>& names) {
  std::vector<Entry> out;
  const auto add = [&](const Entry& entry) {
    const auto known = std::ranges::find(out, entry.name, &Entry::name);
    if (known == out.end()) {
      out.push_back(entry);
      return;
    }
    require(known->file.lexically_normal() == entry.file.lexically_normal(), ErrorKind::usage,
            "reproduce: ", given(*known), " and ", given(entry),
            " would have one folder; expected names that differ");
  };
  for (const auto& name : names) {
    const auto asked = [&](const Entry& entry) { return stands_for(name, entry); };
    if (std::ranges::any_of(all, asked)) {
      for (const auto& entry : all)
        if (asked(entry)) add(entry);
      continue;
    }
    require(name.ends_with(".toml"), ErrorKind::usage, "reproduce: expected one of ", names_of(all),
            ", all, or an experiment file NAME.toml; found \"", name, "\"");
    add(file_entry(name));
  }
  return out;
}

std::string command_for(const Entry& entry, const ReproduceArguments& options) {
  std::string line = "porter reproduce " + shell_word(given(entry));
  if (options.quick) line += " --quick";
  if (options.seeds) line += fmt::format(" --seeds {}", *options.seeds);
  return line;
}

// Nothing when it was interrupted.
std::optional<StudyReport> carry_out(const Entry& entry, const Study& study,
                                     const ReproduceArguments& options, const std::string& place) {
  GridProgress progress(study, place + ' ' + study.name);
  const auto result = run_grid(study, fs::path(options.out) / entry.name,
                               progress.hooks(options.threads), options.force);
  progress.close();
  if (!result) return std::nullopt;
  fmt::print("  {} runs trained, {} taken from the journal", result->trained,
             result->runs.size() - result->trained - result->refused);
  if (result->refused > 0) fmt::print(", {} refused", result->refused);
  if (result->foreign > 0) fmt::print("; {} of other settings in it are not used", result->foreign);
  fmt::print("\n");
  return study_report(study, *result, command_for(entry, options));
}

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

// A .png beside every .svg of the folder, if rsvg-convert is installed.
void write_pngs(const fs::path& folder) {
  std::vector<fs::path> drawings;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".svg") drawings.push_back(entry.path());
  for (const auto& svg : drawings)
    if (!convert(svg, fs::path(svg).replace_extension(".png"))) return;
}

std::string page_in(const fs::path& folder) {
  return fs::absolute(folder / "index.html").lexically_normal().string();
}

void print_report(const StudyReport& report, const fs::path& folder) {
  for (const auto& warning : report.warnings) fmt::print("  ! {}\n", warning);
  fmt::print("  {}\n  page: {}\n", report.headline, page_in(folder));
  std::fflush(stdout);
}

int run_reproduce(const ReproduceArguments& options) {
  const auto all = built_in(options);
  if (options.list || options.names.empty()) {
    print_list(all);
    return 0;
  }
  const auto entries = chosen(all, options.names);
  std::vector<std::optional<Study>> studies;  // all are read before any is run
  for (const auto& entry : entries) {
    auto& study = studies.emplace_back();
    if (!entry.closed_form)
      study = parse_study(
          entry.text, entry.name,
          entry.file.empty() ? "experiments/" + entry.name + ".toml" : entry.file.string(),
          entry.file.empty() ? "" : fs::absolute(entry.file).parent_path(),
          {.quick = options.quick, .seeds = options.seeds});
  }
  catch_interrupts();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    const auto folder = fs::path(options.out) / entry.name;
    const auto place = fmt::format("{}/{}", i + 1, entries.size());
    fmt::print("{} {}\n", place, entry.name);
    std::fflush(stdout);
    const auto report = entry.closed_form ? std::optional(entry.closed_form())
                                          : carry_out(entry, *studies[i], options, place);
    if (!report) {
      fmt::print(stderr, "interrupted; the same command goes on where it stopped\n");
      return 1;
    }
    write_report(*report, folder);
    write_pngs(folder / "figures");
    write_file(fs::path(options.out) / "index.html", index_page(options.out));
    print_report(*report, folder);
  }
  fmt::print("\nall pages: {}\n", page_in(options.out));
  return 0;
}

void add_orders_options(App& command, OrdersRequest& orders) {
  const auto add = [&](const char* name, double& value, const char* help) {
    command.add_option(name, value, help)->group("table1");
  };
  add("--m", orders.records, "samples of each agent");
  add("--n", orders.agents, "agents");
  add("--d", orders.dim, "parameters");
  add("--epsilon", orders.epsilon, "privacy budget");
  add("--delta", orders.delta, "privacy budget");
  add("--alpha", orders.alpha, "mixing rate of the graph, in [0, 1)");
  add("--rho", orders.rho, "contraction of the compressor, in (0, 1]");
  add("--omega", orders.omega, "variance of the unbiased compressor, at least 0");
}

}  // namespace

void add_reproduce_command(App& app) {
  auto* command = app.add_subcommand(
      "reproduce", "the paper's figures, tables and theorems, held against measured curves");
  auto options = std::make_shared<ReproduceArguments>();
  command->add_option(
      "names", options->names,
      "what to reproduce: names of --list or what they begin with (soteria: soteria-*), all, or "
      "experiment files NAME.toml");
  command->add_flag("--list", options->list, "list the names (also without any name)");
  command->add_flag("--quick", options->quick, "a small version that shows that everything works");
  command->add_option("--out", options->out, "folder; every name gets its own in it");
  command
      ->add_option("--threads", options->threads,
                   "runs at the same time (default: one per core); does not change results", "N")
      ->range(1, 1024);
  command->add_option("--seeds", options->seeds, "runs of each setting, instead of the file's", "N")
      ->range(1, 1000);
  command->add_flag("--force", options->force, "forget what earlier calls have trained");
  add_orders_options(*command, options->orders);
  command->footer(
      "Every name gets a folder with index.html (one self-contained page), figures/ (SVG, the\n"
      "points as CSV, and PNG if rsvg-convert is installed), tables/ (CSV), configs/ (for\n"
      "porter run), runs.csv and summary.json. Finished runs are kept in journal.jsonl by their\n"
      "config: an interrupted call goes on where it stopped, and more seeds train only what is\n"
      "new. A run that diverges or fails is shown with its reason. A data set that is missing is\n"
      "replaced by built-in data, and the page says so. See docs/reproducing.md.");
  command->callback([options] { return run_reproduce(*options); });
}

}  // namespace porter::cli
