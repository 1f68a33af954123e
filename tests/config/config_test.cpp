// SPDX-License-Identifier: Apache-2.0
#include "porter/config/config.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_config(text, "c.toml", overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

// What version 0.1 wrote into the configs of runs.
TEST(Config, ReadsTheOldNameOfTheNetworkedEngine) {
  const auto config = parse_config("[run]\nengine = \"grpc\"\n", "c.toml");
  EXPECT_EQ(config.run.engine, EngineKind::tls);
  EXPECT_NE(to_toml(config).find("engine = \"tls\""), std::string::npos);
}

TEST(Config, EmptyTextGivesTheDefaultsOfTheContract) {
  const auto c = parse_config("", "c.toml");
  EXPECT_EQ(c.data.name, "synthetic");
  EXPECT_EQ(to_string(c.split), "shuffled");
  EXPECT_TRUE(c.data.bias);
  EXPECT_EQ(c.model.name, "logistic");
  EXPECT_EQ(c.model.lambda, 0.2);
  EXPECT_EQ(c.network.agents, 10U);
  EXPECT_EQ(c.network.graph, "erdos-renyi:0.8");
  EXPECT_EQ(c.network.mixing, "fdla");
  EXPECT_EQ(c.algorithm.name, "porter-dp");
  EXPECT_EQ(c.algorithm.rounds, 1000U);
  EXPECT_EQ(c.algorithm.step, 0.01);
  EXPECT_EQ(c.algorithm.consensus, 0.02);
  EXPECT_EQ(c.algorithm.batch, 1U);
  EXPECT_EQ(to_string(c.algorithm.clip), "smooth:1.0");
  EXPECT_EQ(c.algorithm.clip_target, ClipTarget::sample);
  EXPECT_EQ(c.algorithm.compressor, "random_k:0.05");
  EXPECT_EQ(c.algorithm.start, "normal:0.2");
  ASSERT_TRUE(c.privacy);
  EXPECT_EQ(c.privacy->epsilon, 1.0);
  EXPECT_EQ(c.privacy->delta, 1e-5);
  EXPECT_EQ(c.privacy->calibration, Calibration::accountant);
  EXPECT_EQ(c.run.seed, 1U);
  EXPECT_EQ(to_string(c.run.evaluate), "log:60");
  EXPECT_EQ(c.run.precision, Precision::wide);
}

TEST(Config, ResolvedTextReadsBackAsItself) {
  for (const char* text :
       {"", "[algorithm]\nname = \"porter-gc\"\nbatch = \"full\"",
        "[algorithm]\nname = \"soteriafl-sgd\"\nshift = 0.05\nclip_target = "
        "\"batch\"\n[privacy]\ncalibration = \"paper\"\n[run]\nseed "
        "= 9007199254740993",
        "[algorithm]\nname = \"dsgd\"",
        "[model]\nname = \"mlp\"\nhidden = [8, 4]\nactivation = \"relu\"",
        "[model]\nname = \"mlp\"\nactivation = \"tempered:1.58:3:0.71\"",
        "[data]\nimage = \"8x12\"\n[model]\nname = \"layers\"\nlayers = [\"conv:4x3/2+1\", "
        "\"tanh\"]",
        "[model]\nname = \"cnn\"", "[model]\nname = \"mlp\"\nloss = \"cauchy\"",
        "[model]\nname = \"linear\"\nloss = \"huber\"",
        "[algorithm]\nname = \"choco-sgd\"\nclip = \"linear:2\"\n[privacy]\nsigma = 0.1",
        "[data]\ntrain = \"a.csv\"\nfeatures = 4\nclasses = [-1, 1, 2.5]",
        "[data]\ntrain = \"a.csv\"\nfeatures = 4\nclasses = \"-3..120\"",
        "[data]\nscale = \"standard\"\nmoments = [-3, 1e-12]",
        "[data]\ntrain = \"a \\\"b\\\".csv\"\ntest = \"t.csv\"\n[model]\nname = \"linear\"",
        "[run]\nevaluate = \"every:5\"\ncheckpoint = \"every:100\"\nthreads = 3\nprecision = "
        "\"float\""}) {
    SCOPED_TRACE(text);
    const auto once = to_toml(parse_config(text, "c.toml"));
    EXPECT_EQ(to_toml(parse_config(once, "resolved")), once);
  }
}

// A loss that is what the model has anyway is not written: old configs keep their texts and ids.
TEST(Config, ALossIsPartOfARunOnlyWhereItIsAnother) {
  const auto with = [](const std::string& keys) {
    return parse_config("[model]\n" + keys, "c.toml");
  };
  const auto linear = with("name = \"linear\""), mlp = with("name = \"mlp\"");
  EXPECT_EQ(to_toml(linear).find("loss"), std::string::npos);
  EXPECT_EQ(to_toml(mlp).find("loss"), std::string::npos);
  EXPECT_EQ(run_id(with("name = \"linear\"\nloss = \"cauchy\"")), run_id(linear));
  EXPECT_NE(run_id(with("name = \"linear\"\nloss = \"squared\"")), run_id(linear));
  EXPECT_NE(run_id(with("name = \"mlp\"\nloss = \"cauchy\"")), run_id(mlp));
  EXPECT_NE(to_toml(with("name = \"mlp\"\nloss = \"cauchy\"")).find("loss = \"cauchy\""),
            std::string::npos);
  // As before there was a choice.
  EXPECT_EQ(run_id(parse_config("", "c.toml")), "c657b2babb99deaec87906e5eb7e0d63");
  EXPECT_EQ(run_id(linear), "d075f49746ebc9a4d28a329dd78d8c77");
  EXPECT_TRUE(linear.data.regression);
  EXPECT_FALSE(mlp.data.regression);
  EXPECT_TRUE(with("name = \"mlp\"\nloss = \"huber\"").data.regression);
}

TEST(Config, DefaultsFollowTheAlgorithm) {
  const auto with = [](const std::string& name) {
    return parse_config("[algorithm]\nname = \"" + name + "\"", "c.toml");
  };
  EXPECT_EQ(with("porter-gc").algorithm.clip_target, ClipTarget::batch);
  EXPECT_FALSE(with("porter-gc").privacy);
  EXPECT_TRUE(with("beer").algorithm.clip.none());
  EXPECT_EQ(with("dsgd").algorithm.compressor, "identity");
  EXPECT_FALSE(with("dsgd").privacy);
  EXPECT_TRUE(with("soteriafl-sgd").algorithm.unbiased);
  EXPECT_TRUE(with("soteriafl-sgd").privacy);
  EXPECT_FALSE(parse_config("[model]\nname = \"mlp\"", "c").data.bias);
}

TEST(Config, OverridesWinAndNeedNoQuotes) {
  const auto c = parse_config("[algorithm]\nstep = 0.5", "c.toml",
                              {"algorithm.step=0.25", "algorithm.compressor=top_k:0.1",
                               "network.graph=ring", "run.seed=7", "model.lambda=0"});
  EXPECT_EQ(c.algorithm.step, 0.25);
  EXPECT_EQ(c.algorithm.compressor, "top_k:0.1");
  EXPECT_EQ(c.network.graph, "ring");
  EXPECT_EQ(c.run.seed, 7U);
  EXPECT_EQ(c.model.lambda, 0);
}

// What is wrong, and what the message must contain.
TEST(Config, EveryWrongConfigNamesTheKeyAndWhatWasExpected) {
  const struct {
    const char* text;
    std::vector<const char*> expected;
  } cases[] = {
      {"[algorithm]\nstepp = 1",
       {"c.toml:2", "algorithm.stepp", "unknown key", "did you mean step?"}},
      {"[algoritm]\nstep = 1", {"c.toml:1", "algoritm", "[algorithm]"}},
      {"seed = 1", {"c.toml:1", "seed"}},
      {"[algorithm]\nstep = \"big\"", {"c.toml:2", "algorithm.step", "expected a number", "big"}},
      {"[algorithm]\nstep = 0", {"algorithm.step", "> 0"}},
      {"[network]\nschedule = \"daily\"", {"c.toml:2", "network.schedule", "epidemic:K", "daily"}},
      {"[network]\ndropout = \"1.5\"", {"c.toml:2", "network.dropout", "below 1", "1.5"}},
      {"[network]\ndropout = true", {"c.toml:2", "network.dropout"}},
      {"[network]\ndropout = 0.1",
       {"c.toml:2", "network.dropout", "porter-dp needs a network that stays", "push-sum"}},
      {"[network]\nschedule = \"matching\"\n[algorithm]\nname = \"led\"",
       {"c.toml:2", "network.schedule", "led", "matching"}},
      {"[network]\nschedule = \"epidemic:2\"\n[algorithm]\nname = \"dsgt\"",
       {"c.toml:2", "network.schedule", "dsgt", "rows and columns"}},
      {"[network]\nschedule = \"directed-ring\"\n[algorithm]\nname = \"dsgd\"",
       {"c.toml:2", "network.schedule", "dsgd", "push-sum and dp-csgp do not", "directed-ring"}},
      {"[network]\nschedule = \"one-peer\"\n[algorithm]\nname = \"dp-csgp\"",
       {"c.toml:2", "network.schedule",
        "dp-csgp needs a network that stays, undirected or directed"}},
      {"[network]\nschedule = \"directed-ring\"\ndropout = 0.1\n[algorithm]\nname = \"dp-csgp\"",
       {"c.toml:3", "network.dropout", "dp-csgp needs a network that stays"}},
      {"[network]\ndropout = 0.1\n[algorithm]\nname = \"dp-csgp\"",
       {"c.toml:2", "network.dropout", "dp-csgp needs a network that stays"}},
      {"[network]\nschedule = \"directed-ring\"\n[algorithm]\nname = \"dp-csgp\"\n[run]\nengine = "
       "\"mpi\"",
       {"c.toml:2", "network.schedule", "simulated only", "mpi"}},
      {"[algorithm]\nname = \"dp-csgp\"\nclip = \"none\"", {"algorithm.clip", "dp-csgp", "none"}},
      {"[network]\nschedule = \"directed-ring\"\n[algorithm]\nname = \"led\"",
       {"c.toml:2", "network.schedule", "led", "directed-ring"}},
      {"[network]\nschedule = \"arcs:\"\n[algorithm]\nname = \"push-sum\"",
       {"c.toml:2", "network.schedule", "arcs:FILE", "arcs:"}},
      {"[network]\nschedule = \"one-peer\"\ndropout = 0.1\n[algorithm]\nname = \"dsgt\"",
       {"c.toml:3", "network.dropout", "dsgt", "where agents are absent"}},
      {"[network]\ndropout = 0.1\n[algorithm]\nname = \"dsgd\"\n[run]\nengine = \"mpi\"",
       {"c.toml:2", "network.dropout", "simulated only", "mpi"}},
      {"[network]\nlatency = -1", {"c.toml:2", "network.latency", ">= 0"}},
      {"[network]\nstraggling = 1", {"c.toml:2", "network.straggling", "network.compute"}},
      {"[network]\ncompute = 1\n[algorithm]\nname = \"dp-sgd\"",
       {"c.toml:2", "network.compute", "dp-sgd"}},
      {"[network]\nlatency = 1\n[run]\nengine = \"tls\"",
       {"c.toml:2", "network.latency", "simulation only", "tls"}},
      {"[algorithm]\nstep = \"automatic\"",
       {"c.toml:2", "algorithm.step", "\"auto\"", "automatic"}},
      {"[algorithm]\nconsensus = true", {"c.toml:2", "algorithm.consensus", "\"auto\"", "true"}},
      {"[data]\nname = \"phishing\"\nholdout = 1", {"c.toml:3", "data.holdout", "below 1"}},
      {"[data]\nname = \"phishing\"\nfold = \"6/5\"", {"c.toml:3", "data.fold", "such as 2/5"}},
      {"[data]\nname = \"a9a\"\nholdout = 0.2", {"c.toml:3", "data.holdout", "without_test"}},
      {"[data]\nname = \"phishing\"\nwithout_test = true", {"c.toml:3", "data.without_test"}},
      {"[data]\ntrain = \"a\"\ntest = \"b\"\nfold = \"1/5\"",
       {"c.toml:4", "data.fold", "test files"}},
      {"[data]\nname = \"phishing\"\nholdout = 0.2\nfold = \"1/5\"", {"data.fold", "found both"}},
      {"[data]\nscale = \"standard\"\nmoments = 0.5",
       {"c.toml:3", "data.moments", "[0.1307, 0.3081]", "found 0.5"}},
      {"[data]\nscale = \"standard\"\nmoments = [0.5]", {"data.moments", "a mean and a deviation"}},
      {"[data]\nscale = \"standard\"\nmoments = [0, 1, 2]", {"data.moments", "found [ 0, 1, 2 ]"}},
      {"[data]\nscale = \"standard\"\nmoments = [0, 1, \"x\"]", {"data.moments", "x"}},
      {"[data]\nscale = \"standard\"\nmoments = [1, 0]",
       {"c.toml:3", "data.moments", "above 0", "found [1.0, 0.0]"}},
      {"[data]\nscale = \"standard\"\nmoments = [1, -2.5]", {"data.moments", "[1.0, -2.5]"}},
      {"[data]\nscale = \"standard\"\nmoments = [1, 1e-310]", {"data.moments", "above 0"}},
      {"[data]\nscale = \"standard\"\nmoments = [nan, 1]", {"data.moments", "finite", "nan"}},
      {"[data]\nscale = \"standard\"\nmoments = [0, inf]", {"data.moments", "finite", "inf"}},
      {"[data]\nmoments = [0, 1]", {"c.toml:2", "data.moments", "standard", "found \"none\""}},
      {"[data]\nscale = \"spectral\"\nmoments = [0, 1]",
       {"c.toml:3", "data.moments", "standard", "found \"spectral\""}},
      {"[data]\nclasses = 3", {"c.toml:2", "data.classes", "[-1, 1]", "found 3"}},
      {"[data]\nclasses = [1]", {"data.classes", "2 to 1000", "found 1"}},
      {"[data]\nclasses = [1, 2, 1]", {"data.classes", "twice"}},
      {"[data]\nclasses = [1, \"x\"]", {"data.classes", "number", "x"}},
      {"[data]\nclasses = [1, nan]", {"data.classes", "number"}},
      {"[data]\nclasses = \"0-9\"", {"c.toml:2", "data.classes", "\"0..9\"", "0-9"}},
      {"[data]\nclasses = \"9..0\"", {"data.classes", "9..0"}},
      {"[data]\nclasses = \"0..100000\"", {"data.classes", "at most 1000"}},
      {"[data]\nclasses = [0, 1]\n[model]\nname = \"linear\"", {"data.classes", "linear"}},
      {"[data]\nclasses = [0, 1]\n[model]\nname = \"mlp\"\nloss = \"squared\"",
       {"data.classes", "mlp", "loss"}},
      {"[model]\nloss = \"huber\"", {"c.toml:2", "model.loss", "logistic predicts classes", "mlp"}},
      {"[model]\nname = \"mlp\"\nloss = \"hinge\"",
       {"c.toml:3", "model.loss", "squared, huber, cauchy", "hinge"}},
      {"[algorithm]\nstep = nan", {"algorithm.step", "expected a number"}},
      {"[algorithm]\nrounds = 0", {"algorithm.rounds", "from 1", "found 0"}},
      {"[algorithm]\nrounds = 1.5", {"algorithm.rounds", "whole number", "1.5"}},
      {"[algorithm]\nrounds = -3", {"algorithm.rounds", "found -3"}},
      {"[algorithm]\nconsensus = 1.5", {"algorithm.consensus", "(0, 1]", "1.5"}},
      {"[algorithm]\nbatch = \"half\"", {"algorithm.batch", "\"full\"", "half"}},
      {"[algorithm]\nbatch = 0", {"algorithm.batch"}},
      {"[algorithm]\nclip = \"smooth\"", {"c.toml:2", "algorithm.clip", "smooth:1.0"}},
      {"[algorithm]\nclip = \"none\"", {"algorithm.clip", "porter-dp needs"}},
      {"[algorithm]\nclip_target = \"batch\"", {"algorithm.clip_target", "clips each sample"}},
      {"[algorithm]\nname = \"beer\"\nclip = \"smooth:1\"",
       {"algorithm.clip", "beer does not clip"}},
      {"[algorithm]\nname = \"sgd\"", {"c.toml:2", "algorithm.name", "porter-gc", "sgd"}},
      {"[algorithm]\nname = 3", {"algorithm.name", "quoted string"}},
      {"[algorithm]\ncompressor = \"top\"", {"c.toml:2", "algorithm.compressor", "top_k"}},
      {"[algorithm]\ncompressor = \"random_k:1.5\"", {"algorithm.compressor", "random_k"}},
      {"[algorithm]\nname = \"dsgd\"\ncompressor = \"top_k:0.1\"",
       {"algorithm.compressor", "dense", "identity"}},
      {"[algorithm]\ncompressor = \"top_k:0.1\"\nunbiased = true", {"algorithm.unbiased", "top_k"}},
      {"[algorithm]\nshift = 0.1", {"algorithm.shift", "soteriafl"}},
      {"[algorithm]\ntrigger = 1", {"algorithm.trigger", "only sparq-sgd has"}},
      {"[algorithm]\nacceleration = \"chebyshev\"",
       {"algorithm.acceleration", "only porter-sweep and sweep-led", "porter-dp"}},
      {"[network]\ndropout = 0.1\n[algorithm]\nname = \"sweep-led\"\nacceleration = \"chebyshev\"",
       {"algorithm.acceleration", "chebyshev", "network that changes"}},
      {"[algorithm]\nlocal_steps = 2", {"algorithm.local_steps", "only lt-admm", "porter-dp", "2"}},
      {"[algorithm]\nname = \"lt-admm\"\nlocal_steps = 0",
       {"algorithm.local_steps", "from 1 to", "found 0"}},
      {"[algorithm]\nname = \"lt-admm\"\ngossip = 2", {"algorithm.gossip", "one gossip step"}},
      {"[algorithm]\nname = \"sparq-sgd\"\ntrigger = -1", {"algorithm.trigger", ">= 0", "-1"}},
      {"[algorithm]\nname = \"gt-nsgdm\"\nclip = \"smooth:1\"",
       {"algorithm.clip", "gt-nsgdm does not clip", "porter-gc"}},
      {"[algorithm]\nname = \"lead\"\ncompressor = \"top_k:0.1\"",
       {"algorithm.unbiased", "lead needs an unbiased compressor", "top_k:0.1"}},
      {"[algorithm]\nname = \"lead\"\nunbiased = false",
       {"c.toml:3", "algorithm.unbiased", "lead"}},
      {"[algorithm]\nname = \"lead\"\nmask = \"sweep\"", {"algorithm.mask", "lead", "sweep"}},
      {"[algorithm]\nmomentum = 0", {"algorithm.momentum", "(0, 1]"}},
      {"[algorithm]\nmask = \"mine\"", {"algorithm.mask", "own, shared, sweep"}},
      {"[algorithm]\ncompressor = \"top_k:0.1\"\nmask = \"shared\"",
       {"algorithm.mask", "random_k", "top_k:0.1"}},
      {"[algorithm]\nname = \"porter-sweep\"\nmask = \"own\"", {"algorithm.mask", "sweeps"}},
      {"[algorithm]\nname = \"porter-sweep\"\ncompressor = \"top_k:0.1\"",
       {"algorithm.mask", "random_k"}},
      {"[algorithm]\nmask = \"sweep\"\ndense = \"W2\"",
       {"algorithm.dense", "porter-sweep", "sweep-led", "porter-dp"}},
      {"[algorithm]\nname = \"soteriafl-sgd\"\ngossip = 2",
       {"algorithm.gossip", "does not gossip"}},
      {"[algorithm]\nsnapshot = 0.1", {"algorithm.snapshot", "soteriafl-svrg"}},
      {"[algorithm]\nname = \"porter-gc\"\n[privacy]\nepsilon = 1",
       {"[privacy]", "porter-gc adds no noise"}},
      {"[privacy]\ndelta = 0", {"privacy.delta", "strictly between 0 and 1", "found 0"}},
      {"[privacy]\ndelta = 1", {"privacy.delta", "found 1"}},
      {"[privacy]\nepsilon = -1", {"privacy.epsilon", "> 0"}},
      {"[privacy]\ncalibration = \"sigma\"", {"privacy.sigma", "needs it"}},
      {"[privacy]\ncalibration = \"guess\"", {"privacy.calibration", "guess"}},
      {"[privacy]\ncalibration = \"paper\"\nsigma = 1",
       {"privacy.sigma", "calibration = \"sigma\""}},
      {"[privacy]\nsigma = -1", {"privacy.sigma", ">= 0"}},
      {"[privacy]\nnoise = \"loud\"", {"privacy.noise", "simulated, secure", "loud"}},
      {"[privacy]\nadjacency = \"add-remove\"", {"privacy.adjacency", "poisson"}},
      {"[privacy]\nsampler = \"shuffle\"", {"privacy.sampler", "fixed, poisson"}},
      {"[algorithm]\nname = \"soteriafl-sgd\"\nclip = \"none\"", {"privacy.calibration", "clip"}},
      {"[algorithm]\nname = \"soteriafl-sgd\"\nclip_target = \"batch\"",
       {"privacy.calibration", "clip_target"}},
      {"[model]\nname = \"tree\"", {"c.toml:2", "model.name", "logistic", "tree"}},
      {"[model]\nlambda = -1", {"model.lambda", ">= 0"}},
      {"[model]\nhidden = [3]", {"model.hidden", "mlp"}},
      {"[model]\nname = \"mlp\"\nhidden = [3, \"x\"]", {"model.hidden", "whole number"}},
      {"[model]\nname = \"layers\"", {"model.layers", "needs them"}},
      {"[model]\nname = \"cnn\"\nlayers = []", {"c.toml:3", "model.layers", "of its own"}},
      {"[model]\nname = \"mlp\"\nlayers = []", {"c.toml:3", "model.layers", "mlp has no such"}},
      {"[model]\nname = \"layers\"\nlayers = 3", {"c.toml:3", "model.layers", "a list", "found 3"}},
      {"[model]\nname = \"layers\"\nlayers = [3]", {"model.layers", "a text", "found 3"}},
      {"[model]\nname = \"layers\"\nlayers = [\"conv:3\"]",
       {"c.toml:3", "model.layers", "conv:FILTERSxKERNEL", "found \"conv:3\""}},
      {"[model]\nname = \"layers\"\nlayers = [\"conv:3x3\", \"tempered:2:2\"]",
       {"c.toml:3", "model.layers", "expected tempered:S:T:O", "found \"tempered:2:2\""}},
      {"[model]\nname = \"mlp\"\nactivation = \"tempered:2:0:1\"",
       {"c.toml:3", "model.activation", "S and T from 0.001 to 1000", "found 2, 0 and 1"}},
      {"[model]\nname = \"mlp\"\nactivation = \"elu\"",
       {"c.toml:3", "model.activation", "tanh, relu or tempered:S:T:O", "elu"}},
      {"[data]\ntransform = \"hog\"\n[model]\nname = \"cnn\"",
       {"c.toml:2", "data.transform", "cnn learns from images as they are"}},
      {"[data]\nimage = \"4x4\"", {"c.toml:2", "data.image", "layers and cnn"}},
      {"[network]\nagents = 0", {"network.agents", "from 1"}},
      {"[run]\nevaluate = \"often\"", {"run.evaluate", "every:N", "often"}},
      {"[run]\nevaluate = \"every:0\"", {"run.evaluate"}},
      {"[run]\ncheckpoint = \"daily\"", {"run.checkpoint", "every:N"}},
      {"[run]\nengine = \"cloud\"", {"run.engine", "simulate, mpi, tls, cuda", "cloud"}},
      {"[algorithm]\nname = \"ldp-sgd\"\n[run]\nengine = \"mpi\"", {"run.engine", "ldp-sgd"}},
      {"[run]\nprecision = \"half\"", {"c.toml:2", "run.precision", "double, float", "half"}},
      {"[algorithm]\nname = \"dsgd\"\n[run]\nprecision = \"float\"",
       {"c.toml:4", "run.precision", "dsgd keeps its state in double", "porter-dp"}},
      {"[algorithm]\nmomentum = 0.5\n[run]\nprecision = \"float\"",
       {"c.toml:4", "run.precision", "momentum", "double"}},
      {"[run]\nseed = -1", {"run.seed"}},
      {"[run\n", {"c.toml:", "not valid TOML"}},
      {"data = 3", {"c.toml:1", "section [data]"}},
  };
  for (const auto& [text, expected] : cases) {
    const auto message = error_of(text);
    for (const auto* piece : expected)
      EXPECT_NE(message.find(piece), std::string::npos)
          << text << "\n  gives: " << message << "\n  lacks: " << piece;
  }
  for (const char* bad : {"step", "algorithm.step", "=1", ".step=1", "algorithm.=1"})
    EXPECT_NE(error_of("", {bad}).find("--set"), std::string::npos) << bad;
}

std::string repeated(std::size_t count, const std::string& piece) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

// Such a config used to end in a stack overflow, or in gigabytes.
TEST(Config, DeepKeysAndLongListsAreRefusedBeforeTheyTakeMemory) {
  const auto dots = repeated(40'000, "a.");
  for (const auto& text : {dots + "a = 1", "\n[" + dots + "a]", "[run]\nseed = {" + dots + "a = 1}",
                           "[run]\nx = \"\"\" \" \"\"\"\n" + dots + "a = 1",
                           "a = {b = \"\"\"x\"\"\"\", " + dots + "a = 1}",
                           "a = {b = \'\'\'x\'\'\'\'\', " + dots + "a = 1}"})
    EXPECT_NE(error_of(text).find("keys of at most 16 parts"), std::string::npos)
        << text.substr(0, 40);
  EXPECT_EQ(error_of("", {"run.seed={" + dots + "a=1}"}).find("--set:1: expected keys"), 0U);
  const auto layers =
      error_of("[model]\nname = \"mlp\"\nhidden = [" + repeated(200'000, "1,") + "1]");
  EXPECT_EQ(layers, "c.toml:3: model.hidden: expected at most 1000 layers, found 200001");
  EXPECT_EQ(
      error_of("[model]\nname = \"layers\"\nlayers = [" + repeated(200'000, "\"relu\",") + "]"),
      "c.toml:3: model.layers: expected at most 1000 layers, found 200000");
  EXPECT_LT(error_of("[model]\nname = [" + repeated(200'000, "1,") + "1]").size(), 300U);
}

TEST(Config, DotsInTextsAndCommentsArePartsOfNoKey) {
  const auto dots = repeated(50, ".");
  for (const auto& text :
       {"# " + dots + "\n", "[data]\nname = \"" + dots + "\"", "[data]\nname = '" + dots + "'",
        "[data]\nname = \"\"\"\n\" " + dots + "\"\"\"", "[data]\nname = \"\\\"" + dots + "\"",
        "[data]\nname = '''a'" + dots + "'''"})
    EXPECT_NO_THROW(parse_config(text, "c.toml")) << text;
}

TEST(Config, ErrorsBlameTheOptionThatSetTheKeyAndNotTheFile) {
  const std::string file = "[algorithm]\nstep = 0.5\nname = \"porter-dp\"";
  for (const auto& [override, rest] : std::map<std::string, std::string>{
           {"algorithm.step=big", "algorithm.step: expected a number"},
           {"algorithm.step=-1", "algorithm.step: expected a number > 0"},
           {"algorithm.stepp=1", "algorithm.stepp: unknown key"},
           {"algorithm.name=sgd", "algorithm.name: expected one of"},
           {"run.engine=cloud", "run.engine: expected one of"},
           {"algoritm.step=1", "unknown section"}})
    EXPECT_EQ(error_of(file, {override}).find("--set: " + rest), 0U) << error_of(file, {override});
  EXPECT_EQ(error_of("[algorithm]\nstep = -1", {"run.seed=3"}).find("c.toml:2: "), 0U);
}

TEST(Config, ErrorsNameAKeyOnce) {
  EXPECT_EQ(error_of("[algorithm]\nname = \"sgd\"").find("c.toml:2: algorithm.name: expected"), 0U);
}

TEST(Config, ControlCharactersReadBackAsThemselves) {
  auto c = parse_config("", "c.toml");
  c.data.train = "a\nb\tc\x01\x7f\"\\.csv";
  EXPECT_EQ(parse_config(to_toml(c), "again.toml").data.train, c.data.train) << to_toml(c);
}

TEST(Config, ANetworkThatChangesIsPartOfARunOnlyWhereItDoes) {
  const auto id = [](const std::string& text) {
    return run_id(parse_config("[algorithm]\nname = \"dsgd\"\n[network]\n" + text, "c.toml"));
  };
  EXPECT_EQ(id("dropout = \"0\""), id(""));
  EXPECT_EQ(id("schedule = \"static\""), id(""));
  EXPECT_EQ(id("dropout = 0.1"), id("dropout = \"0.1\""));
  EXPECT_NE(id("dropout = 0.1"), id(""));
  EXPECT_EQ(id("dropout = \"trace:a/away.csv\""), id("dropout = \"trace:b/away.csv\""));
}

TEST(Config, FilesAreRelativeToTheConfig) {
  const TempDir dir;
  write_file(dir / "c.toml",
             "[data]\ntrain = \"sub/train.csv\"\n[network]\ngraph = \"file:edges.txt\"");
  const auto c = load_config(dir / "c.toml");
  EXPECT_EQ(c.data.train, (dir / "sub/train.csv").string());
  EXPECT_EQ(c.network.graph, "file:" + (dir / "edges.txt").string());
  EXPECT_THROW(load_config(dir / "missing.toml"), Error);
}

TEST(Config, ClassesAreAListOrARange) {
  const auto classes = [](const std::string& value) {
    return parse_config("[data]\nclasses = " + value, "c.toml").data.classes;
  };
  EXPECT_EQ(classes("[2, -1]"), (std::vector<double>{2, -1}));
  EXPECT_EQ(classes("[0.5, 1]"), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(classes("\"-1..2\""), (std::vector<double>{-1, 0, 1, 2}));
  EXPECT_NE(to_toml(parse_config("[data]\nclasses = [0, 1, 2, 3]", "c")).find("\"0..3\""),
            std::string::npos);
  EXPECT_NE(to_toml(parse_config("[data]\nclasses = [-1, 1]", "c")).find("classes = [-1, 1]"),
            std::string::npos);
}

// Runs of configs that do without a key keep their ids when it is added.
TEST(Config, WhatIsHeldOutIsWrittenOnlyWhereSomethingIs) {
  const auto plain = parse_config("[data]\nname = \"phishing\"\nholdout = 0\n", "c.toml");
  EXPECT_EQ(to_toml(plain).find("holdout"), std::string::npos);
  EXPECT_EQ(to_toml(plain).find("fold"), std::string::npos);
  EXPECT_EQ(run_id(plain), run_id(parse_config("[data]\nname = \"phishing\"\n", "c.toml")));
  std::set<std::string> ids = {run_id(plain)};
  for (const char* key :
       {"data.holdout=0.2", "data.holdout=0.3", "data.fold=1/5", "data.fold=2/5"}) {
    const auto config = parse_config("[data]\nname = \"phishing\"\n", "c.toml", {key});
    EXPECT_EQ(to_toml(parse_config(to_toml(config), "again")), to_toml(config)) << key;
    EXPECT_TRUE(ids.insert(run_id(config)).second) << key;
  }
}

TEST(Config, MomentsArePartOfARunOnlyWhereTheyAreGiven) {
  const auto with = [](const std::string& keys) {
    return parse_config("[data]\nscale = \"standard\"\n" + keys, "c.toml");
  };
  const auto measured = with(""), given = with("moments = [0, 0.5]");
  EXPECT_EQ(to_toml(measured).find("moments"), std::string::npos);
  EXPECT_NE(to_toml(given).find("moments = [0.0, 0.5]\n"), std::string::npos) << to_toml(given);
  EXPECT_EQ(run_id(with("moments = [0.0, 5e-1]")), run_id(given));
  const std::set<std::string> ids = {run_id(measured), run_id(given),
                                     run_id(with("moments = [0, 0.25]")),
                                     run_id(with("moments = [1, 0.5]"))};
  EXPECT_EQ(ids.size(), 4U);
}

TEST(Config, AKnownSetWithoutItsTestSetHoldsRowsOut) {
  const auto config =
      parse_config("[data]\nname = \"a9a\"\nwithout_test = true\nholdout = 0.2\n", "c");
  EXPECT_EQ(to_toml(parse_config(to_toml(config), "again")), to_toml(config));
  EXPECT_TRUE(config.data.without_test);
  EXPECT_EQ(to_toml(parse_config("[data]\nname = \"a9a\"\n", "c")).find("without_test"),
            std::string::npos);
}

TEST(Config, NothingIsHeldOutWithAGuarantee) {
  try {
    parse_config("[data]\nname = \"phishing\"\nholdout = 0.2\n[privacy]\nnoise = \"secure\"\n",
                 "c.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::privacy);
    EXPECT_NE(std::string(error.what()).find("c.toml:3: data.holdout: rows that are held out"),
              std::string::npos)
        << error.what();
  }
}

TEST(Config, StepsMayBeAuto) {
  const auto config =
      parse_config("[algorithm]\nstep = \"auto\"\nconsensus = \"auto\"\n", "c.toml");
  EXPECT_EQ(config.algorithm.step, 0);
  EXPECT_EQ(config.algorithm.consensus, 0);
  EXPECT_NE(to_toml(config).find("step = \"auto\"\nconsensus = \"auto\""), std::string::npos);
  EXPECT_EQ(to_toml(parse_config(to_toml(config), "again")), to_toml(config));
}

}  // namespace
}  // namespace porter
