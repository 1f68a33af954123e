// SPDX-License-Identifier: Apache-2.0
#include "porter/run/agent.hpp"

#include <algorithm>
#include <deque>

#include "agent_folder.hpp"
#include "file_journal.hpp"
#include "locked_log.hpp"
#include "porter/core/error.hpp"
#include "porter/run/ledgers.hpp"

namespace porter {
namespace {

constexpr std::uint32_t kCheckpointPeriod = 200;  // where the config names none

// An agent has its own rows and nobody else's.
RunData own_data(const AgentOptions& options) {
  const auto& config = options.config;
  if (options.train.empty()) {
    const auto all = load_run_data(config);
    const auto each = all.train->rows() / config.network.agents;
    std::vector<std::uint32_t> rows(each);
    for (std::size_t i = 0; i < each; ++i)
      rows[i] = static_cast<std::uint32_t>(options.index * each + i);
    return {std::make_shared<const Dataset>(select_rows(*all.train, rows)), nullptr, all.source,
            options.index};
  }
  const auto& scale = config.data.scale;
  require(scale == "none" || scale == "unit", ErrorKind::privacy, "data.scale = \"", scale,
          "\" is measured on the agent's data and would show through the model; use none or unit");
  require(config.data.outliers == "none", ErrorKind::usage, "data.outliers = \"",
          config.data.outliers,
          "\" is for experiments; an agent trains on its own rows as they are");
  auto pair = load_data({.train = options.train,
                         .features = config.data.features,
                         .scale = scale,
                         .bias = config.data.bias,
                         .regression = config.data.regression});
  return {std::make_shared<const Dataset>(std::move(pair.train)), nullptr, std::move(pair.source),
          options.index};
}

class AgentRun {
 public:
  AgentRun(const AgentOptions& options, const std::filesystem::path& folder,
           const AgentHooks& hooks)
      : options_(options),
        hooks_(hooks),
        folder_(folder, options.config),
        checkpoint_(folder_.load_checkpoint()),
        period_(options.config.run.checkpoint_every > 0 ? options.config.run.checkpoint_every
                                                        : kCheckpointPeriod) {
    const auto& privacy = options_.config.privacy;
    if (privacy && privacy->noise == "secure")
      journal_ = std::make_unique<FileJournal>(folder_.journal_file());
    experiment_ =
        std::make_unique<Experiment>(options_.config, own_data(options_), engine(), journal_.get());
    try {
      resume();
    } catch (const Error& error) {
      network_->abort(error.what());  // the neighbours are connected already
      throw;
    }
    experiment_->exchange()->record([this](std::uint32_t step, std::uint32_t, auto message) {
      sent_.push_back({step, Payload(message.begin(), message.end())});
    });
    hooks_.log(experiment_->privacy().sentence(options_.config.algorithm.rounds));
  }

  TrainStatus run() {
    try {
      const auto status = train();
      if (status == TrainStatus::interrupted) return status;
    } catch (const std::exception& error) {
      network_->abort(error.what());
      report("failed");
      throw;
    }
    finish();
    return TrainStatus::finished;
  }

 private:
  std::uint32_t steps() const { return experiment_->round() * options_.config.algorithm.gossip; }

  Engine engine() {
    std::vector<std::string> names;
    for (const auto& peer : options_.peers) names.push_back(peer.name);
    return {.process = options_.index,
            .processes = options_.peers.size(),
            .connect = [this](const RunShape& shape) { return connect(shape); },
            .names = std::move(names),
            .trace = hooks_.trace,
            .report = hooks_.log};
  }

  std::unique_ptr<Transport> connect(const RunShape& shape) {
    const auto& config = options_.config;
    const auto resume_after = checkpoint_ ? checkpoint_->round * config.algorithm.gossip : 0;
    auto facts = agent_facts(config, shape.network, shape.dim);
    facts["run.checkpoint"] = std::to_string(period_);  // how far back a neighbour may have to go
    auto transport = hooks_.connect(
        shape.hosting,
        {.identity = load_identity(options_.authority, options_.certificate, options_.key),
         .process = options_.index,
         .peers = options_.peers,
         .listen = options_.listen,
         .facts = std::move(facts),
         .max_message = shape.max_message,
         .peer_wait = options_.peer_wait,
         .start_wait = options_.start_wait,
         .keepalive = options_.keepalive,
         .resume_after = resume_after,
         .may_restart = true,
         .report = hooks_.log,
         .links = hooks_.links,
         .trace = hooks_.trace});
    network_ = transport.get();
    return transport;
  }

  // Neighbours may have restarted from older checkpoints, so they are offered the messages again.
  void resume() {
    const bool started = checkpoint_ || (journal_ && !journal_->empty());
    if (checkpoint_) {
      experiment_->restore(checkpoint_->snapshot, "the agent's checkpoint");
      for (auto& message : checkpoint_->sent) {
        network_->post(message.step, options_.index, message.bytes);
        sent_.push_back(std::move(message));
      }
      status_.checkpoint = experiment_->round();
      hooks_.log(concat("continuing after round ", experiment_->round()));
    }
    ledgers_.open(folder_.path(), *experiment_, started, experiment_->releases());
    require_known_releases();
    const auto rounds = options_.config.algorithm.rounds;
    const auto allowed = experiment_->privacy().most_releases();
    require(started || allowed >= rounds, ErrorKind::privacy, "the privacy budget allows ", allowed,
            " of the ", rounds, " rounds; take fewer rounds, more noise or a larger epsilon");
  }

  // Rounds that were released after the checkpoint are done again from the journal. One more may
  // have been charged: it was not recorded, so nothing of it has left, and the charge still stands
  // for it. More than that cannot be: files of different times were put together.
  void require_known_releases() const {
    if (!journal_) return;
    auto known = experiment_->releases();
    for (auto round = experiment_->round() + 1; journal_->holds(round); ++round) ++known;
    require(ledgers_.charges() <= known + 1, ErrorKind::privacy, folder_.path().string(),
            ": the ledger holds ", ledgers_.charges(),
            " releases, but the checkpoint and the "
            "journal only ",
            known, ": rounds would be released again with other noise");
  }

  TrainStatus train() {
    report("training");
    while (!experiment_->finished()) {
      if (hooks_.stop_requested()) {
        checkpoint();
        network_->abandon();
        report("stopped");
        return TrainStatus::interrupted;
      }
      require(experiment_->may_release(), ErrorKind::privacy,
              "the privacy budget allows no further round");
      ledgers_.charge(*experiment_, experiment_->round() + 1);
      experiment_->step();
      if (experiment_->round() % period_ == 0 || experiment_->finished()) checkpoint();
      report("training");
    }
    return TrainStatus::finished;
  }

  void checkpoint() {
    // A neighbour is at most one round behind, and so its last checkpoint at most one period.
    const auto rounds = experiment_->round();
    const auto oldest =
        rounds == 0 ? 0 : (rounds - 1) / period_ * period_ * options_.config.algorithm.gossip;
    while (!sent_.empty() && sent_.front().step <= oldest) sent_.pop_front();
    if (experiment_->finished()) folder_.write_results(*experiment_);
    folder_.save_checkpoint({rounds, experiment_->snapshot(), {sent_.begin(), sent_.end()}});
    if (journal_) journal_->clear();
    network_->settle(steps());
    status_.checkpoint = rounds;
  }

  // The results are on disk. A neighbour that is out of reach may have finished and left; one that
  // has not needs this agent to be started once more, as nobody else has its messages.
  void finish() {
    try {
      network_->finish();
      folder_.mark_finished();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::network) throw;
      hooks_.log(concat("done, but ", error.what()));
    }
    report("finished");
  }

  void report(const std::string& state) {
    status_.name = options_.name;
    status_.state = state;
    status_.round = experiment_->round();
    status_.rounds = options_.config.algorithm.rounds;
    status_.bytes = experiment_->exchange()->bytes();
    status_.wait_seconds = experiment_->exchange()->waited();
    // Rounds that are done again after a restart have been released before.
    const auto releases = std::max(experiment_->releases(), ledgers_.charges());
    status_.epsilon = experiment_->privacy().epsilon(releases);
    status_.secret = experiment_->privacy().secure().has_value();
    hooks_.after_round(status_);
  }

  const AgentOptions& options_;
  const AgentHooks& hooks_;
  AgentFolder folder_;
  std::optional<AgentCheckpoint> checkpoint_;
  std::uint32_t period_;
  std::unique_ptr<FileJournal> journal_;
  NetworkTransport* network_ = nullptr;  // the experiment's
  std::deque<SentMessage> sent_;         // since the checkpoint before the last
  std::unique_ptr<Experiment> experiment_;
  Ledgers ledgers_;
  AgentStatus status_;
};

}  // namespace

TrainStatus run_agent(const AgentOptions& options, const std::filesystem::path& folder,
                      const AgentHooks& hooks) {
  const AgentFolder files(folder, options.config);
  // The journal of releases is touched before the port and the ledger would refuse a second
  // process.
  const LockedLog lock(files.lock_file(), "agent");
  if (files.is_finished()) {
    hooks.log("has finished before, and so have its neighbours");
    return TrainStatus::finished;
  }
  return AgentRun(options, folder, hooks).run();
}

}  // namespace porter
