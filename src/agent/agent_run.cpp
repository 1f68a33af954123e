// SPDX-License-Identifier: Apache-2.0
#include "agent_run.hpp"

#include <algorithm>
#include <map>

#include "agent_data.hpp"
#include "comm/exchange.hpp"
#include "comm/tls.hpp"
#include "config/difference.hpp"
#include "core/text.hpp"
#include "file_journal.hpp"
#include "pair_keys.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "privacy/secure_noise.hpp"
#include "train/ledgers.hpp"
#include "train/run_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

constexpr std::uint32_t kCheckpointPeriod = 200;  // where the config names none
constexpr const char* kSharedNoiseFact = "shared noise";

// What the others are told. Texts about files name local paths, which are nobody else's business.
std::string public_reason(const std::exception& error) {
  static const std::map<ErrorKind, std::string> kReasons = {
      {ErrorKind::usage, "its config or its data do not fit"},
      {ErrorKind::io, "it cannot read or write its files"},
      {ErrorKind::privacy, "its privacy rules forbid it to go on"},
      {ErrorKind::numeric, "its numbers left the finite ones"},
  };
  const auto* known = dynamic_cast<const Error*>(&error);
  if (known == nullptr) return "it failed";
  if (known->kind() == ErrorKind::network || known->kind() == ErrorKind::protocol)
    return error.what();
  const auto reason = kReasons.find(known->kind());
  return reason == kReasons.end() ? "it failed" : reason->second;
}

class AgentRun {
 public:
  AgentRun(const AgentOptions& options, AgentFolder& folder, const AgentHooks& hooks,
           Sources sources, Stage stage)
      : options_(options),
        stage_(std::move(stage)),
        hooks_(hooks),
        folder_(folder),
        checkpoint_(folder_.load_newest()),
        period_(options.config.run.checkpoint_every > 0 ? options.config.run.checkpoint_every
                                                        : kCheckpointPeriod) {
    if (checkpoint_ && !checkpoint_->damage.empty())
      hooks_.log(concat(checkpoint_->damage, "; taking the checkpoint before it, of round ",
                        checkpoint_->round()));
    if (claims_guarantee(options_.config)) open_journal();
    if (!sources.data) sources.data = own_data(options_);
    sources.data->holder = options_.index;
    auto parts = assemble(options_.config, std::move(sources));
    require_consent(options_, *parts.privacy, options_.config.algorithm.rounds);
    if (journal_ && parts.privacy->pairs()) open_pairs(parts);
    auto link = connect(parts);
    trainer_.emplace(std::move(parts), std::move(link));
    try {
      resume();
    } catch (const Error& error) {
      // The neighbours are connected already. They wait for one that has been in the run before.
      checkpoint_ ? network_->abandon() : network_->abort(public_reason(error));
      throw;
    }
    trainer_->exchange()->record(
        [this](std::uint32_t step, std::uint32_t, auto message) { sent_.add(step, message); });
    if (const auto& warning = trainer_->facts().data_warning; !warning.empty())
      hooks_.log("warning: " + warning);
    hooks_.log(trainer_->privacy().sentence(options_.config.algorithm.rounds));
  }

  TrainStatus run() {
    require_newest_folder();
    try {
      charge_doubtful();
      report("training");
      const auto status = train(*trainer_, {observer()});
      require(status != TrainStatus::budget_spent, ErrorKind::privacy,
              "the privacy budget allows no further round");
      if (status == TrainStatus::interrupted) {
        checkpoint();
        network_->abandon();
        report("stopped");
        return status;
      }
    } catch (const std::exception& error) {
      network_->abort(public_reason(error));
      report("failed");
      throw;
    }
    finish();
    return TrainStatus::finished;
  }

 private:
  // It is made before the ledger, so where only that one is there somebody has removed it.
  void require_kept(const std::filesystem::path& file, const char* without_it) const {
    const auto ledger = folder_.path() / "ledger" / concat("agent-", options_.index, ".ledger");
    require(std::filesystem::exists(file) || !std::filesystem::exists(ledger), ErrorKind::privacy,
            file.string(), " is missing: without it ", without_it,
            "; bring it back, or start a new run in a new folder with another run.seed");
  }

  void open_journal() {
    const auto file = folder_.journal_file();
    require_kept(file, "rounds would be released again with other noise");
    journal_ = std::make_unique<FileJournal>(file, owner_of(options_),
                                             checkpoint_ ? checkpoint_->round() : 0,
                                             checkpoint_ && !checkpoint_->damage.empty());
  }

  // Neighbours share noise: the secrets that they draw it from.
  void open_pairs(const RunParts& parts) {
    require_kept(folder_.pairs_file(), "the noise that neighbours share would not be theirs");
    std::vector<std::string> names;
    for (const auto& peer : options_.peers) names.push_back(peer.name);
    pairs_ = std::make_unique<PairKeys>(folder_.pairs_file(), owner_of(options_), std::move(names),
                                        parts.network->graph.neighbours()[options_.index]);
  }

  // Both ends draw whole steps of one grid, and what noise is worth is that of equal parts. Sigma
  // follows from the number of an agent's records, unless the config names it.
  static std::string shared_noise_fact(const RunPrivacy& privacy) {
    return concat("own ", shortest(privacy.own_sigma()), ", shared ",
                  shortest(privacy.pair_sigma()), ", grid ", shortest(privacy.secure()->grid()));
  }

  Link connect(const RunParts& parts) {
    const auto gossip = options_.config.algorithm.gossip;
    const auto round = checkpoint_ ? checkpoint_->round() : 0;
    // A round is released when those before it are done: the neighbours' messages have been here,
    // and a neighbour whose folder knows less of them is to hear it.
    const auto done = std::max(round + 1, known_after(round)) - 1;
    const bool kept = checkpoint_ && !checkpoint_->sent.empty();
    auto facts = shared_facts(options_.config, *parts.network, parts.facts.dim, parts.start);
    for (const auto& [key, value] : stage_.facts) facts[key] = value;
    if (pairs_) facts[kSharedNoiseFact] = shared_noise_fact(*parts.privacy);
    facts["run.checkpoint"] = std::to_string(period_);  // how far back a neighbour may have to go
    Link link{.process = options_.index,
              .hosting = host_agents(parts, options_.peers.size()),
              .trace = hooks_.trace,
              .report = hooks_.log,
              .journal = journal_.get(),
              .pair_steps = pairs_.get()};
    for (const auto& peer : options_.peers) link.names.push_back(peer.name);
    const auto connect = hooks_.connect ? hooks_.connect : make_network_transport;
    link.transport = network_ =
        connect(*link.hosting,
                {.identity = load_identity(options_.authority, options_.certificate, options_.key),
                 .process = options_.index,
                 .peers = options_.peers,
                 .listen = options_.listen,
                 .facts = std::move(facts),
                 .family = stage_.family,
                 .stage = stage_.number,
                 .keys = pairs_.get(),
                 .max_message = Exchange::max_message(parts.facts.dim, parts.facts.agents),
                 .peer_wait = options_.peer_wait,
                 .start_wait = options_.start_wait,
                 .round_wait = options_.round_wait,
                 .keepalive = options_.keepalive,
                 .resume_after = round * gossip,
                 .seen = done * gossip,
                 .forgotten = kept ? checkpoint_->sent.first_step() - 1 : round * gossip,
                 .may_restart = true,
                 .most_unsettled = most_unsettled(),
                 .report = hooks_.log,
                 .links = hooks_.links,
                 .trace = hooks_.trace});
    return link;
  }

  // In steps. All agents have the same period: a neighbour is one round behind, its last but one
  // checkpoint nearly two periods, and what it says of that may take a while.
  std::uint32_t most_unsettled() const {
    constexpr std::uint64_t kOnItsWay = 1000, kMost = ~std::uint32_t{0};
    const auto steps =
        std::uint64_t{options_.config.algorithm.gossip} * (2 * std::uint64_t{period_} + 2);
    return static_cast<std::uint32_t>(std::min(steps + kOnItsWay, kMost));
  }

  // Neighbours may have restarted from older checkpoints, so they are offered the messages again.
  void resume() {
    const bool started = checkpoint_ || (journal_ && !journal_->empty());
    if (checkpoint_) {
      trainer_->restore(checkpoint_->run, "the agent's checkpoint");
      sent_ = std::move(checkpoint_->sent);
      sent_.for_each([&](std::uint32_t step, std::span<const std::byte> bytes) {
        network_->post(step, options_.index, bytes);
      });
      status_.checkpoint = trainer_->round();
      if (trainer_->round() > 0) hooks_.log(concat("continuing after round ", trainer_->round()));
    }
    ledgers_.open(folder_.path(), *trainer_, started, trainer_->releases());
    require_known_releases();
    const auto rounds = options_.config.algorithm.rounds;
    const auto allowed = trainer_->privacy().most_releases();
    require(started || allowed >= rounds, ErrorKind::privacy, "the privacy budget allows ", allowed,
            " of the ", rounds, " rounds; take fewer rounds, more noise or a larger epsilon");
    // A round that was charged twice counts for this agent's own limit, too.
    if (!trainer_->finished())
      require_consent(options_, trainer_->privacy(),
                      trainer_->releases() + (rounds - trainer_->round()));
    // The neighbours hear that all up to here is safe, so both checkpoints are to be of this round.
    save_checkpoint();
    if (pairs_ && trainer_->finished()) pairs_->spend();
  }

  // The last round whose release this folder knows: in the checkpoint, or in the journal.
  std::uint32_t known_round() const { return known_after(trainer_->round()); }
  std::uint32_t known_after(std::uint32_t round) const {
    while (journal_ && journal_->holds(round + 1)) ++round;
    return round;
  }

  // Rounds that were released after the checkpoint are done again from the journal. One more may
  // have been charged: it was not recorded, so nothing of it has left, and the charge still stands
  // for it. More than that cannot be: files of different times were put together.
  void require_known_releases() const {
    if (!journal_) return;
    const auto known = trainer_->releases() + (known_round() - trainer_->round());
    require(ledgers_.charges() <= known + 1, ErrorKind::privacy, folder_.path().string(),
            ": the ledger holds ", ledgers_.charges(),
            " releases, but the checkpoint and the "
            "journal only ",
            known, ": rounds would be released again with other noise");
  }

  // What a neighbour holds was released. A folder that does not know of it is an old one, or a new
  // one in place of one that is lost, and would release its rounds again with other noise. Nothing
  // is charged while somebody cannot be reached.
  void require_newest_folder() {
    if (!journal_ || trainer_->finished()) return;
    const auto& algorithm = options_.config.algorithm;
    const auto round = known_round();
    const auto held = network_->meet();
    const auto most = std::uint64_t{round} * algorithm.gossip +
                      (find_algorithm(algorithm.name).sends_first ? 1 : 0);
    if (held <= most) {
      if (pairs_) pairs_->settle();
      return;
    }
    network_->abandon();  // the neighbours wait for the newest folder
    fail(ErrorKind::privacy, folder_.path().string(), ": this folder knows of ", round,
         " rounds, but a neighbour holds message ", held, " of this agent, which is of round ",
         (held - 1) / algorithm.gossip + 1,
         ": the folder is older than what was released, and would release rounds again with other "
         "noise. Nothing was charged or sent. Bring back the newest folder of this agent; where it "
         "is lost, start a new run with another run.seed, and count the rounds up to that one "
         "against the budget of these data");
  }

  // The last record of the journal cannot be read, so its round may have left under the charge that
  // is there, and is charged anew for the noise to come. A checkpoint says so before the record
  // goes.
  void charge_doubtful() {
    if (!journal_ || !journal_->doubtful()) return;
    require(!pairs_, ErrorKind::privacy, folder_.journal_file().string(), ": the record of round ",
            known_round() + 1,
            " is damaged. The round may have been released, and with noise that neighbours share "
            "it cannot be released once more: both releases would have it in common. Bring back "
            "the file, or start a new run with another run.seed");
    const auto left = options_.config.algorithm.rounds - trainer_->round();
    const auto releases = trainer_->releases() + 1;
    require(
        trainer_->privacy().allows(releases + left), ErrorKind::privacy,
        folder_.journal_file().string(), ": the record of round ", known_round() + 1,
        " is damaged. The round may have been released, and the privacy budget does not allow "
        "to release it once more; bring back the file, or start a new run with another run.seed");
    require_consent(options_, trainer_->privacy(), releases + left);
    hooks_.log(concat("the record of round ", known_round() + 1,
                      " in the journal of releases is damaged; the round is charged once more"));
    trainer_->raise_releases(releases);
    save_checkpoint();
    journal_->drop_doubtful();
  }

  Observer observer() {
    return {.before_round = [this](std::uint32_t round) { ledgers_.charge(*trainer_, round); },
            .after_round =
                [this] {
                  if (trainer_->round() % period_ == 0 || trainer_->finished()) checkpoint();
                  report("training");
                },
            .stop_requested = hooks_.stop_requested};
  }

  void checkpoint() {
    // A neighbour is at most one round behind, its last checkpoint at most one period behind that,
    // and the one before another period.
    const auto rounds = trainer_->round(), last = rounds == 0 ? 0 : (rounds - 1) / period_;
    const auto oldest = last == 0 ? 0 : (last - 1) * period_ * options_.config.algorithm.gossip;
    sent_.forget(oldest);
    if (trainer_->finished()) {
      trainer_->raise_releases(ledgers_.charges());  // the statement counts what the ledger does
      folder_.write_results(*trainer_, options_.name);
    }
    save_checkpoint();
    if (journal_) journal_->turn(rounds);
    if (pairs_) trainer_->finished() ? pairs_->spend() : pairs_->forget(rounds);
    network_->settle(folder_.oldest_round() * options_.config.algorithm.gossip);
    status_.checkpoint = rounds;
  }

  void save_checkpoint() { folder_.save(trainer_->checkpoint(), sent_); }

  // The results are on disk. A neighbour that is out of reach may have finished and left; one that
  // has not needs this agent to be started once more, as nobody else has its messages.
  void finish() {
    try {
      network_->finish();
      folder_.mark_finished();
      if (pairs_) pairs_->remove();
    } catch (const Error& error) {
      // Nobody measures with one that has gone on, so all neighbours are waited for.
      if (error.kind() != ErrorKind::network || stage_.measures) throw;
      hooks_.log(concat("done, but ", error.what()));
    }
    report("finished");
  }

  void report(const std::string& state) {
    if (state == status_.state && !hooks_.wants_status()) return;
    status_.name = options_.name;
    status_.state = state;
    status_.rounds = options_.config.algorithm.rounds;
    status_.round = trainer_->round();
    status_.bytes = trainer_->exchange()->bytes();
    status_.wait_seconds = trainer_->exchange()->waited();
    // Rounds that are done again after a restart have been released before.
    const auto releases = std::max(trainer_->releases(), ledgers_.charges());
    status_.epsilon = trainer_->privacy().epsilon(releases);
    status_.secret = trainer_->privacy().secure() != nullptr;
    hooks_.after_round(status_);
  }

  const AgentOptions& options_;
  const Stage stage_;
  const AgentHooks& hooks_;
  AgentFolder& folder_;
  std::optional<AgentCheckpoint> checkpoint_;
  std::uint32_t period_;
  std::unique_ptr<FileJournal> journal_;
  std::unique_ptr<PairKeys> pairs_;  // where neighbours share secret noise
  std::shared_ptr<NetworkTransport> network_;
  SentLog sent_;  // since the checkpoint before the last
  std::optional<Trainer> trainer_;
  Ledgers ledgers_;
  AgentStatus status_;
};

}  // namespace

TrainStatus run_stage(const AgentOptions& options, AgentFolder& folder, const AgentHooks& hooks,
                      Sources sources, Stage stage) {
  return AgentRun(options, folder, hooks, std::move(sources), std::move(stage)).run();
}

}  // namespace porter
