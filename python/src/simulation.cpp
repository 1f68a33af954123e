// SPDX-License-Identifier: Apache-2.0
// A run in this process: porterdp.Simulation.
#include <chrono>
#include <limits>

#include "bindings.hpp"
#include "callback_model.hpp"
#include "porter/algo/scripted.hpp"
#include "porter/core/error.hpp"
#include "porter/train/train.hpp"
#include "train/run_folder.hpp"

namespace porter::python {
namespace {

using Clock = std::chrono::steady_clock;

// Rows as NumPy sees them, without a copy; `owner` lives as long as the view.
py::array view(const Rows& rows, const py::object& owner, bool writable) {
  const auto stride = static_cast<py::ssize_t>(rows.stride() * sizeof(double));
  const auto n = static_cast<py::ssize_t>(rows.agents()), d = static_cast<py::ssize_t>(rows.dim());
  const double* first = rows.agents() == 0 ? nullptr : rows.row(0).data();
  py::array out(py::dtype::of<double>(), {n, d}, {stride, py::ssize_t{sizeof(double)}}, first,
                owner);
  if (!writable) out.attr("setflags")(py::arg("write") = false);
  return out;
}

// What keeps the rows of a round.
py::capsule keeper(const ScriptedRound& round) {
  return {new std::shared_ptr<const void>(round.storage()),
          [](void* kept) { delete static_cast<std::shared_ptr<const void>*>(kept); }};
}

void copy_into(const py::object& given, Rows& rows, const char* what) {
  const auto array = Doubles::ensure(given);
  require(array && array.ndim() == 2 && static_cast<std::size_t>(array.shape(0)) == rows.agents() &&
              static_cast<std::size_t>(array.shape(1)) == rows.dim(),
          ErrorKind::usage, what, ": expected an array of ", rows.agents(), " x ", rows.dim());
  for (std::size_t i = 0; i < rows.agents(); ++i)
    std::copy_n(array.data() + i * rows.dim(), rows.dim(), rows.row(i).begin());
}

// An object of Python that C++ may let go of without the interpreter's lock.
struct Held {
  explicit Held(py::object given) : object(std::move(given)) {}
  ~Held() {
    const py::gil_scoped_acquire acquired;
    object = py::object();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  py::object object;
};

// What `gradients` and `mix` of a step work with; a script may keep them, but not use them later.
struct LiveRound {
  ScriptedRound* round = nullptr;
  Rows space = {};  // what a script gives, as rows

  const Rows& use(const py::object& given, const char* what,
                  const Rows& (ScriptedRound::*call)(const Rows&)) {
    require(round != nullptr, ErrorKind::usage, what, " is for the step that it was given to");
    copy_into(given, space, what);
    const py::gil_scoped_release released;
    return (round->*call)(space);
  }
};

ScriptedMethod::From parse_from(const std::string& from) {
  require(from == "start" || from == "zero", ErrorKind::usage,
          "channels: expected \"start\" or \"zero\" for each, found \"", from, "\"");
  return from == "start" ? ScriptedMethod::From::start : ScriptedMethod::From::zero;
}

void step_in_python(const py::object& method, const std::vector<std::string>& matrices,
                    const std::shared_ptr<LiveRound>& live, ScriptedRound& round) {
  const py::gil_scoped_acquire acquired;
  const py::object kept = keeper(round);
  method.attr("round") = round.number();
  for (const auto& name : matrices)
    method.attr(name.c_str()) = view(round.matrix(name), kept, true);
  live->round = &round;
  const std::shared_ptr<void> ended(nullptr, [live](void*) { live->round = nullptr; });
  const auto gradients = py::cpp_function([live, kept](const py::object& at) {
    return view(live->use(at, "gradients(X)", &ScriptedRound::gradients), kept, false);
  });
  const auto mix = py::cpp_function([live, kept](const py::object& V) {
    return view(live->use(V, "mix(V)", &ScriptedRound::mix), kept, false);
  });
  method.attr("step")(view(round.rows(), kept, true), gradients, mix);
}

// A method that Python writes: an object with step(X, gradients, mix), and with `channels` and
// `matrices` where it has more than one vector.
std::unique_ptr<Algorithm> python_method(const AlgorithmSetup& setup,
                                         const std::shared_ptr<Held>& held) {
  const py::gil_scoped_acquire acquired;
  const auto& method = held->object;
  ScriptedMethod scripted;
  if (py::hasattr(method, "channels")) {
    scripted.channels.clear();
    for (const auto& from : method.attr("channels").cast<std::vector<std::string>>())
      scripted.channels.push_back(parse_from(from));
  }
  if (py::hasattr(method, "matrices"))
    scripted.matrices = method.attr("matrices").cast<std::vector<std::string>>();
  const auto live = std::make_shared<LiveRound>(
      LiveRound{nullptr, Rows(setup.problem.agents, setup.start.size())});
  scripted.step = [held, live, names = scripted.matrices](ScriptedRound& round) {
    step_in_python(held->object, names, live, round);
  };
  return make_scripted(setup, std::move(scripted));
}

py::dict to_dict(const MetricsRow& row) {
  py::dict out;
  for (const auto& column : metrics_columns()) out[column.name] = column.get(row);
  return out;
}

// Asks Python for signals, and callers for progress, ten times a second.
class Ticker {
 public:
  bool due() {
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(100);
    return true;
  }

 private:
  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(100);
};

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

class Simulation {
 public:
  Simulation(const Config& config, std::shared_ptr<RunData> data,
             std::shared_ptr<CallbackModel> model, const std::optional<Graph>& graph,
             const std::optional<Doubles>& W, const std::optional<Doubles>& start,
             std::shared_ptr<Compressor> compressor, const py::object& method) {
    Sources sources;
    if (data) sources.data = *data;
    sources.model = std::move(model);
    sources.graph = graph;
    if (W) sources.mixing = given_mixing(*W, graph);
    if (start) sources.start = to_vector(*start);
    sources.compressor = std::move(compressor);
    if (!method.is_none())
      sources.algorithm = [held = std::make_shared<Held>(method)](const AlgorithmSetup& setup) {
        return python_method(setup, held);
      };
    const py::gil_scoped_release released;
    trainer_ = std::make_unique<Trainer>(assemble(config, std::move(sources)));
  }

  Trainer& trainer() { return *trainer_; }
  const Trainer& trainer() const { return *trainer_; }

  void step(std::uint32_t rounds) {
    const py::gil_scoped_release released;
    Ticker ticker;
    for (std::uint32_t i = 0; i < rounds; ++i) {
      require(!trainer_->finished(), ErrorKind::usage, "the run has its ",
              trainer_->config().algorithm.rounds, " rounds; more of them are algorithm.rounds");
      require(trainer_->may_release(), ErrorKind::privacy,
              "the privacy budget allows no further round");
      require(!claims_guarantee(trainer_->config()), ErrorKind::privacy,
              "rounds with secret noise are charged to a ledger, which is in a folder: call "
              "run(out=...)");
      trainer_->step();
      if (!ticker.due()) continue;
      const py::gil_scoped_acquire acquired;
      check_signals();
    }
  }

  // What observers raise ends the run like an interrupt, so that a folder has its checkpoint.
  std::string train(const std::optional<std::filesystem::path>& folder,
                    const py::object& on_evaluation, const py::object& on_progress) {
    std::exception_ptr raised;
    bool stop = false;
    Ticker ticker;
    const auto guarded = [&](const auto& work) {
      if (stop) return;
      const py::gil_scoped_acquire acquired;
      try {
        work();
      } catch (const py::error_already_set&) {
        raised = std::current_exception();
        stop = true;
      }
    };
    const Observer observer{
        .after_evaluation =
            [&](const MetricsRow& row) {
              if (!on_evaluation.is_none())
                guarded([&] { stop = on_evaluation(to_dict(row)).is(py::bool_(false)) || stop; });
            },
        .after_round =
            [&] {
              if (!ticker.due() && !trainer_->finished()) return;
              guarded([&] {
                check_signals();
                if (!on_progress.is_none()) on_progress(trainer_->round());
              });
            },
        .stop_requested = [&] { return stop; }};
    TrainStatus status;
    {
      const py::gil_scoped_release released;
      status =
          folder ? train_in(*folder, *trainer_, {observer}) : porter::train(*trainer_, {observer});
    }
    if (raised) std::rethrow_exception(raised);
    return std::string(choice_text(status));
  }

  py::dict evaluate(bool remember) {
    return to_dict([&] {
      const py::gil_scoped_release released;
      return remember && trainer_->evaluation_due() ? trainer_->evaluate() : trainer_->measure();
    }());
  }

  py::dict arrays() const {
    py::dict out;
    trainer_->with_model([&](const NpzParts& parts) {
      for (const auto& [name, part] : parts) {
        std::vector<py::ssize_t> shape(part.shape.begin(), part.shape.end());
        if (!part.bytes.empty()) continue;  // the card
        py::array_t<double> array(shape);
        auto* at = array.mutable_data();
        for (const auto& values : part.parts) at = std::ranges::copy(values, at).out;
        out[name.c_str()] = array;
      }
    });
    return out;
  }

  void save(const std::filesystem::path& file) { save_checkpoint(file, trainer_->checkpoint()); }
  void restore(const std::filesystem::path& file) {
    trainer_->restore(load_checkpoint(file), file.string());
  }

 private:
  static Mixing given_mixing(const Doubles& W, const std::optional<Graph>& graph) {
    require(graph.has_value(), ErrorKind::usage, "W needs the graph that it is for");
    const auto n = graph->nodes();
    require(W.ndim() == 2 && static_cast<std::size_t>(W.size()) == n * n, ErrorKind::usage,
            "W: expected ", n, " x ", n, " numbers for this graph");
    Mixing mixing;
    mixing.weights = MixingMatrix(n, {W.data(), n * n});
    const auto rate = mixing_rate(mixing.weights);
    mixing.alpha = rate.alpha;
    mixing.alpha_error = rate.error;
    mixing.alpha_method = rate.method;
    mixing.method = "given";
    return mixing;
  }

  std::unique_ptr<Trainer> trainer_;
};

}  // namespace

void bind_simulation(py::module_& module) {
  py::class_<Simulation>(module, "Simulation")
      .def(
          py::init<const Config&, std::shared_ptr<RunData>, std::shared_ptr<CallbackModel>,
                   const std::optional<Graph>&, const std::optional<Doubles>&,
                   const std::optional<Doubles>&, std::shared_ptr<Compressor>, const py::object&>(),
          py::arg("config"), py::arg("data") = py::none(), py::arg("model") = py::none(),
          py::arg("graph") = py::none(), py::arg("W") = py::none(), py::arg("start") = py::none(),
          py::arg("compressor") = py::none(), py::arg("method") = py::none())
      .def("step", &Simulation::step)
      .def("train", &Simulation::train, py::arg("folder"), py::arg("on_evaluation"),
           py::arg("on_progress"))
      .def("evaluate", &Simulation::evaluate)
      .def("arrays", &Simulation::arrays)
      .def("save", &Simulation::save)
      .def("restore", &Simulation::restore)
      .def("iterates",
           [](const py::object& self) {
             return view(self.cast<const Simulation&>().trainer().algorithm().iterates(), self,
                         false);
           })
      .def_property_readonly("round", [](const Simulation& s) { return s.trainer().round(); })
      .def_property_readonly(
          "rounds", [](const Simulation& s) { return s.trainer().config().algorithm.rounds; })
      .def_property_readonly("finished", [](const Simulation& s) { return s.trainer().finished(); })
      .def_property_readonly("dim", [](const Simulation& s) { return s.trainer().facts().dim; })
      .def_property_readonly("config",
                             [](const Simulation& s) { return to_toml(s.trainer().config()); })
      .def("privacy", [](const Simulation& s) { return privacy_json(s.trainer()); })
      .def("summary",
           [](const Simulation& s) {
             return summary_json(s.trainer(), "", TrainStatus::interrupted);
           })
      .def("card", [](const Simulation& s) -> std::optional<std::string> {
        const auto card = s.trainer().card();
        return card ? std::optional(card_json(*card)) : std::nullopt;
      });
}

}  // namespace porter::python
