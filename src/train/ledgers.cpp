// SPDX-License-Identifier: Apache-2.0
#include "train/ledgers.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "config/difference.hpp"
#include "porter/core/error.hpp"
#include "porter/privacy/clip.hpp"

namespace porter {
namespace {

// A ledger stays open and locked while its run goes on. Systems start a process with as few as 1024
// open files and let it ask for more.
void allow_ledgers(std::size_t count) {
  constexpr rlim_t kOthers = 256;  // files that are no ledgers
  const rlim_t needed = static_cast<rlim_t>(count) + kOthers;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  require(limit.rlim_max >= needed, ErrorKind::io, "secure noise keeps a ledger open for each of ",
          count, " agents, which needs ", needed, " open files; this system allows ",
          limit.rlim_max, " (ulimit -Hn)");
  limit.rlim_cur = needed;
  require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, ErrorKind::io, "cannot raise the number of ",
          "open files to the ", needed, " that ", count, " ledgers need (ulimit -n)");
}

// A run that was extended goes on with the ledgers that it had.
std::string run_of_ledger(const std::filesystem::path& file, const Trainer& trainer) {
  const auto& earlier = trainer.earlier_runs();
  if (!earlier.empty() && std::filesystem::exists(file))
    if (const auto found = read_ledger(file).header.run_id; std::ranges::count(earlier, found) > 0)
      return found;
  return run_id(trainer.config());
}

}  // namespace

void Ledgers::open(const std::filesystem::path& folder, const Trainer& trainer, bool started,
                   std::uint64_t at_least) {
  if (!trainer.privacy().secure()) return;
  const auto& config = trainer.config();
  make_folder(folder / "ledger", config);
  const auto hosted = trainer.hosted();
  allow_ledgers(hosted.size());
  before_ = trainer.privacy().statistics().releases;
  const auto& config_privacy = *config.privacy;
  for (const auto agent : hosted) {
    const auto& own = trainer.privacy().of(agent);
    const auto file = folder / "ledger" / ("agent-" + std::to_string(agent) + ".ledger");
    const LedgerHeader header{.run_id = run_of_ledger(file, trainer),
                              .agent = agent,
                              .sampler = std::string(choice_text(config_privacy.sampler)),
                              .adjacency = std::string(choice_text(config_privacy.adjacency)),
                              .records = own.sampler().records(),
                              .batch = own.sampler().batch(),
                              .noise_stddev = own.least_charged_sigma(),
                              .clip = config.algorithm.clip.tau,
                              .delta = config_privacy.delta,
                              .epsilon = own.budget()};
    ledgers_.push_back(started || std::filesystem::exists(file)
                           ? Ledger::resume(file, header, started ? before_ + at_least : at_least)
                           : Ledger::create(file, header));
    // Their own ledgers were charged before they left; here they count for the whole.
    while (ledgers_.back().view().charges < before_)
      ledgers_.back().charge(0, trainer.privacy().statistics().sigma, header.records);
  }
}

void Ledgers::charge(const Trainer& trainer, std::uint32_t round) {
  raise(trainer, trainer.releases() + 1, round);
}

void Ledgers::catch_up(const Trainer& trainer) {
  raise(trainer, trainer.releases(), trainer.round());
}

// A charge that is one of several counts as the release of the round that it would be if each round
// were released once, as RunPrivacy counts it: with phases, of this round or a later one, which are
// never cheaper.
void Ledgers::raise(const Trainer& trainer, std::uint64_t charges, std::uint32_t round) {
  for (auto& ledger : ledgers_) {
    const auto& own = trainer.privacy().of(ledger.view().header.agent);
    while (ledger.view().charges < before_ + charges) {
      const auto place = ledger.view().charges - before_ + 1;
      ledger.charge(round, own.charged_sigma(place), own.sampler().batch());
    }
  }
}

std::uint64_t Ledgers::charges() const {
  std::uint64_t most = 0;
  for (const auto& ledger : ledgers_) most = std::max(most, ledger.view().charges);
  return most - std::min(most, before_);
}

}  // namespace porter
