// SPDX-License-Identifier: Apache-2.0
#include "porter/agent/agent.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "agent_folder.hpp"
#include "comm/exchange.hpp"
#include "comm/tls.hpp"
#include "config/config_keys.hpp"
#include "config/difference.hpp"
#include "file_journal.hpp"
#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "report/text.hpp"
#include "train/ledgers.hpp"
#include "train/measure.hpp"
#include "train/run_data.hpp"
#include "train/run_folder.hpp"

namespace porter {
namespace {

constexpr std::uint32_t kCheckpointPeriod = 200;  // where the config names none

// The config of the run with the agent's own data in it.
Config recorded_config(const AgentOptions& options) {
  auto config = options.config;
  if (options.train.empty()) return config;
  auto& data = config.data;
  for (auto* file :
       {&data.test, &data.train_images, &data.train_labels, &data.test_images, &data.test_labels})
    file->clear();
  data.train = options.train;
  return config;
}

// What cannot be done with an agent's own file.
void check_own_data(const AgentOptions& options) {
  const auto& config = options.config;
  if (options.train.empty()) return;
  require(!is_measured(config.data.scale), ErrorKind::privacy, "data.scale = \"",
          choice_text(config.data.scale),
          "\" is measured on the agent's data and would show through the model; use none or unit");
  require(!config.data.plants_outliers(), ErrorKind::usage, "data.outliers = \"",
          config.data.outliers,
          "\" is for experiments; an agent trains on its own rows as they are");
  require(
      !config.data.holds_out(), ErrorKind::usage,
      "data.holdout and data.fold are for experiments; an agent trains on all rows of its file, "
      "so leave out of it what is to be a test set");
}

// An agent has its own rows and nobody else's.
RunData own_data(const AgentOptions& options) {
  const auto& config = options.config;
  check_own_data(options);
  if (options.train.empty()) {
    const auto all = load_run_data(config);
    const auto each = all.train->rows() / config.network.agents;
    std::vector<std::uint32_t> rows(each);
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(options.index * each));
    return {std::make_shared<const Dataset>(select_rows(*all.train, rows)),
            nullptr,
            all.source,
            all.warning,
            all.scaling,
            options.index};
  }
  auto data = data_options(recorded_config(options));
  data.cache = false;
  auto pair = load_data(data);
  return {std::make_shared<const Dataset>(std::move(pair.train)),
          nullptr,
          std::move(pair.source),
          std::move(pair.warning),
          pair.scaling,
          options.index};
}

// Steps that are "auto" as numbers, which the folder holds and the neighbours compare.
AgentOptions with_steps(AgentOptions options, Sources sources) {
  const auto& algorithm = options.config.algorithm;
  if (algorithm.step > 0 && algorithm.consensus > 0) return options;
  if (!sources.data) sources.data = own_data(options);
  sources.data->holder = options.index;
  options.config = assemble(options.config, std::move(sources)).config;
  return options;
}

FileOwner owner_of(const AgentOptions& options) { return {run_id(options.config), options.index}; }

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

/// Where the schema leaves something to be measured, what agents do together has stages: one per
/// statistic, then the training.
struct Stage {
  std::string family = {};  ///< names them all; empty: there is nothing but the training
  std::uint32_t number = 0;
  bool measures = false;
  /// What neighbours must agree on beside what this stage is made of.
  std::map<std::string, std::string> facts = {};
};

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
    auto link = connect(parts);
    trainer_.emplace(std::move(parts), std::move(link));
    try {
      resume();
    } catch (const Error& error) {
      // The neighbours are connected already. They wait for one that has been in the run before.
      checkpoint_ ? network_->abandon() : network_->abort(public_reason(error));
      throw;
    }
    trainer_->exchange()->record([this](std::uint32_t step, std::uint32_t, auto message) {
      sent_.push_back({step, Payload(message.begin(), message.end())});
    });
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
  void open_journal() {
    const auto ledger = folder_.path() / "ledger" / concat("agent-", options_.index, ".ledger");
    const auto file = folder_.journal_file();
    require(std::filesystem::exists(file) || !std::filesystem::exists(ledger), ErrorKind::privacy,
            file.string(),
            " is missing: without it rounds would be released again with other noise; bring it "
            "back, or start a new run in a new folder with another run.seed");
    journal_ = std::make_unique<FileJournal>(file, owner_of(options_),
                                             checkpoint_ ? checkpoint_->round() : 0,
                                             checkpoint_ && !checkpoint_->damage.empty());
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
    facts["run.checkpoint"] = std::to_string(period_);  // how far back a neighbour may have to go
    Link link{.process = options_.index,
              .hosting = host_agents(parts, options_.peers.size()),
              .trace = hooks_.trace,
              .report = hooks_.log,
              .journal = journal_.get()};
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
                 .max_message = Exchange::max_message(parts.facts.dim, parts.facts.agents),
                 .peer_wait = options_.peer_wait,
                 .start_wait = options_.start_wait,
                 .round_wait = options_.round_wait,
                 .keepalive = options_.keepalive,
                 .resume_after = round * gossip,
                 .seen = done * gossip,
                 .forgotten = kept ? checkpoint_->sent.front().step - 1 : round * gossip,
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
      for (auto& message : checkpoint_->sent) {
        network_->post(message.step, options_.index, message.bytes);
        sent_.push_back(std::move(message));
      }
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
    if (held <= most) return;
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
    while (!sent_.empty() && sent_.front().step <= oldest) sent_.pop_front();
    if (trainer_->finished()) {
      trainer_->raise_releases(ledgers_.charges());  // the statement counts what the ledger does
      folder_.write_results(*trainer_, options_.name);
    }
    save_checkpoint();
    if (journal_) journal_->turn(rounds);
    network_->settle(folder_.oldest_round() * options_.config.algorithm.gossip);
    status_.checkpoint = rounds;
  }

  void save_checkpoint() { folder_.save({trainer_->checkpoint(), {sent_.begin(), sent_.end()}}); }

  // The results are on disk. A neighbour that is out of reach may have finished and left; one that
  // has not needs this agent to be started once more, as nobody else has its messages.
  void finish() {
    try {
      network_->finish();
      folder_.mark_finished();
    } catch (const Error& error) {
      // Nobody measures with one that has gone on, so all neighbours are waited for.
      if (error.kind() != ErrorKind::network || stage_.measures) throw;
      hooks_.log(concat("done, but ", error.what()));
    }
    report("finished");
  }

  void report(const std::string& state) {
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
  std::shared_ptr<NetworkTransport> network_;
  std::deque<SentMessage> sent_;  // since the checkpoint before the last
  std::optional<Trainer> trainer_;
  Ledgers ledgers_;
  AgentStatus status_;
};

/// The stages before the training.
class AgentMeasurements {
 public:
  AgentMeasurements(const AgentOptions& options, const std::filesystem::path& folder,
                    const AgentHooks& hooks, const std::optional<Graph>& graph)
      : options_(options), folder_(folder), hooks_(hooks), graph_(graph) {
    check_own_data(options_);
    hooks_.after_round = [before = hooks.after_round](AgentStatus status) {
      if (status.state == "training" || status.state == "finished") status.state = "measuring";
      before(status);
    };
  }

  /// The complete schema, which is in the folder then; nothing where a stop was requested.
  std::shared_ptr<const Schema> run() {
    auto schema = options_.config.data.schema;
    make_folder(folder_, options_.config);
    for (const auto statistic : statistics_of(*schema)) {
      const Measurement measurement(options_.config, schema, statistic, graph_);
      ++stage_;
      hooks_.log(concat("the ", to_string(statistic), " that the schema leaves to be measured:"));
      if (!measure(measurement)) return nullptr;
      schema = completed(measurement);
    }
    const auto known = measured_schema(options_.config, folder_);
    require(!known || schema_facts(*known) == schema_facts(*schema), ErrorKind::privacy,
            (folder_ / kSchemaFile).string(), " is not what this agent has measured");
    if (!known) write_file(folder_ / kSchemaFile, to_toml(*schema));
    hooks_.log(
        concat("measured with its neighbours what the schema leaves open; it is in ", kSchemaFile));
    return schema;
  }

 private:
  AgentOptions options_of(const Config& config) const {
    auto options = options_;
    options.config = config;
    return options;
  }

  bool measure(const Measurement& measurement) {
    const auto options = options_of(measurement.config());
    AgentFolder files(measurement.folder(folder_), recorded_config(options), owner_of(options));
    const AppendFile lock(files.lock_file(), {.in_use = "another agent is working in this folder"});
    if (files.is_finished()) return true;
    auto rows = own_data(options_of(measurement.reading()));
    require_consent_to_all(rows.train->rows());
    const auto status = AgentRun(options, files, hooks_, measurement.sources(std::move(rows)),
                                 {.family = run_id(options_.config),
                                  .number = stage_,
                                  .measures = true,
                                  .facts = identity(options_.config)})
                            .run();
    return status == TrainStatus::finished;
  }

  // What is measured leaves before the training begins, so the whole is consented to before.
  void require_consent_to_all(std::size_t records) const {
    const auto& config = options_.config;
    const auto batch = config.algorithm.batch == 0 ? records : config.algorithm.batch;
    const bool poisson = config.privacy && config.privacy->sampler == Sampler::poisson;
    const RunPrivacy privacy(
        config, BatchSampler(poisson ? Sampler::poisson : Sampler::fixed, records, batch), 1);
    require_consent(options_, privacy, config.algorithm.rounds);
    require(privacy.most_releases() >= config.algorithm.rounds, ErrorKind::privacy,
            "the privacy budget allows ", privacy.most_releases(), " of the ",
            config.algorithm.rounds, " rounds, with what is measured before them; take fewer ",
            "rounds, more noise or a larger epsilon");
  }

  std::shared_ptr<const Schema> completed(const Measurement& measurement) const {
    const auto folder = measurement.folder(folder_);
    const auto statement = load_statement(folder / "privacy.json");
    require(statement && statement->releases <= 1, ErrorKind::privacy, folder.string(),
            ": expected the statement of one release, found ", statement ? statement->releases : 0);
    const auto model = load_npz(folder / "model.npz");
    return measurement.completed(member(model, "x_mean", folder.string()).values, statement->sigma,
                                 statement->records);
  }

  const AgentOptions& options_;
  const std::filesystem::path& folder_;
  AgentHooks hooks_;
  const std::optional<Graph>& graph_;
  std::uint32_t stage_ = 0;
};

bool lacks_schema(const Config& config) {
  return config.data.schema && !config.data.schema->is_complete();
}

}  // namespace

void require_consent(const AgentOptions& options, const RunPrivacy& privacy,
                     std::uint64_t releases) {
  const auto bounds = privacy.interval(releases);
  require(bounds || !options.require_noise, ErrorKind::privacy, "agent.require_noise: ",
          privacy.sigma() == 0
              ? concat(options.config.algorithm.name, " adds no noise in this config")
              : concat("the noise of this config protects nobody without clipping of each sample"),
          ", so this agent's gradients would leave unprotected. Take part in a run with noise (for "
          "example porter-dp with a [privacy] section), or consent for data that need no "
          "protection: require_noise = false in this agent's own [agent]");
  const double delta = options.config.privacy ? options.config.privacy->delta : 0;
  require(
      !privacy.secure() || delta < privacy.one_record() ||
          !(options.require_noise || options.max_epsilon),
      ErrorKind::privacy, options.require_noise ? "agent.require_noise" : "agent.max_epsilon",
      ": privacy.delta of this config is ", delta, ", not below 1/m = ", privacy.one_record(),
      " of this agent: whatever epsilon is, that permits publishing a record. Take part in a run "
      "with a smaller delta, or consent for data that need no protection: require_noise = false "
      "and no max_epsilon in this agent's own [agent]");
  if (!options.max_epsilon) return;
  require(bounds && bounds->upper <= *options.max_epsilon, ErrorKind::privacy,
          "agent.max_epsilon: this agent allows ", *options.max_epsilon, ", but this run ",
          bounds ? concat("ends at a certified epsilon of ", rounded_up(bounds->upper), " after ",
                          releases, " releases")
                 : concat("has no certified epsilon"),
          "; take part in a run with more noise or fewer rounds, or raise this agent's own limit");
}

void check_agent_folder(const AgentOptions& given, const std::filesystem::path& folder) {
  auto options = given;
  if (lacks_schema(options.config)) {
    const auto schema = measured_schema(options.config, folder);
    if (!schema) return AgentFolder::check(folder, recorded_config(options));
    options.config.data.schema = schema;
  }
  AgentFolder::check(folder, recorded_config(with_steps(options, {})));
}

TrainStatus run_agent(const AgentOptions& given, const std::filesystem::path& folder,
                      const AgentHooks& hooks, Sources sources) {
  auto options = given;
  Stage stage;
  if (lacks_schema(options.config)) {
    require(!sources.data, ErrorKind::usage,
            "data.schema: it has columns that are to be measured, and data that are given are not");
    if (!measured_schema(given.config, folder)) AgentFolder::check(folder, recorded_config(given));
    const auto schema = AgentMeasurements(given, folder, hooks, sources.graph).run();
    if (!schema) return TrainStatus::interrupted;
    options.config.data.schema = schema;
    stage = {.family = run_id(given.config),
             .number = 1 + static_cast<std::uint32_t>(statistics_of(*schema).size())};
  }
  options = with_steps(options, sources);
  AgentFolder files(folder, recorded_config(options), owner_of(options));
  // The journal of releases is touched before the port and the ledger would refuse a second
  // process.
  const AppendFile lock(files.lock_file(), {.in_use = "another agent is working in this folder"});
  if (files.is_finished()) {
    hooks.log("has finished before, and so have its neighbours");
    return TrainStatus::finished;
  }
  AgentStatus status;
  status.name = options.name;
  status.rounds = options.config.algorithm.rounds;
  hooks.after_round(status);
  return AgentRun(options, files, hooks, std::move(sources), std::move(stage)).run();
}

}  // namespace porter
