# SPDX-License-Identifier: Apache-2.0
"""Runs, results and folders."""
import gc
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import porterdp


def test_trains_on_arrays(two_classes, quick):
    X, y = two_classes
    rows = []
    result = porterdp.run(quick, data=(X[:1600], y[:1600]), test=(X[1600:], y[1600:]), callbacks=rows.append)
    assert result.status == "finished"
    assert result.metrics.test_accuracy[-1] > 0.85
    assert [row["round"] for row in rows] == list(result.metrics["round"])
    assert result.metrics.last["loss"] == rows[-1]["loss"]
    assert np.mean(result.model.predict(X[1600:]) == y[1600:]) == pytest.approx(result.metrics.test_accuracy[-1])
    assert result.model.predict_proba(X[:7]).shape == (7, 2)
    assert result.model.parameters["w"].shape == (6,)
    assert "not private" in str(result.privacy) and not result.privacy.guaranteed
    assert result.metrics.to_pandas().shape[0] == len(rows)
    assert "svg" in result._repr_html_() and "No guarantee" in result._repr_html_()


def test_has_the_bits_of_the_command(tmp_path, command):
    (tmp_path / "c.toml").write_text("[algorithm]\nname = 'porter-dp'\nrounds = 30\nstep = 0.05\nbatch = 4\n"
                                     "[privacy]\nepsilon = 1\n[run]\nevaluate = 'end'\n")
    subprocess.run([command, "run", str(tmp_path / "c.toml"), "--out", str(tmp_path / "theirs")], check=True,
                   capture_output=True)
    ours, theirs = porterdp.run(tmp_path / "c.toml", out=tmp_path / "ours"), porterdp.load(tmp_path / "theirs")
    for name, values in theirs.arrays.items():
        assert np.array_equal(ours.arrays[name], values), name
    assert ours.privacy == theirs.privacy


def test_data_in_every_form(two_classes, quick):
    pandas = pytest.importorskip("pandas")
    X, y = two_classes
    config = {**quick, "data": {"split": "contiguous"}}
    whole = porterdp.run(config, data=(X, y)).arrays["x_mean"]
    each = [(X[i * 500:(i + 1) * 500], y[i * 500:(i + 1) * 500]) for i in range(4)]
    assert np.array_equal(porterdp.run(config, data=each).arrays["x_mean"], whole)
    frame = pandas.DataFrame(X, columns=list("abcde")).assign(ill=np.where(y == 1, "yes", "no"))
    found = porterdp.run(config, data=frame, label="ill")
    assert np.array_equal(found.arrays["x_mean"], whole)
    assert list(found.model.classes) == ["no", "yes"]
    for other in (X.astype(np.float64), np.asfortranarray(X), X[:, ::1]):
        assert np.array_equal(porterdp.run(config, data=(other, y)).arrays["x_mean"], whole)


def test_tables_with_a_schema(tmp_path, command):
    pandas = pytest.importorskip("pandas")
    draw = np.random.default_rng(2)
    frame = pandas.DataFrame({"age, years": draw.integers(20, 70, 300) + 0.5, "job": draw.choice(["cook", "clerk"], 300)})
    frame["state"] = np.where((frame["age, years"] > 40) & (frame["job"] == "cook"), "ill", "well")
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    subprocess.run([command, "data", "schema", "t.csv", "--label", "state"], cwd=tmp_path, check=True,
                   capture_output=True)
    result = porterdp.run({"data": {"train": str(tmp_path / "t.csv"), "schema": str(tmp_path / "schema.toml")},
                           "network.agents": 4, "model.lambda": 0.0,
                           "algorithm": {"name": "dsgd", "compressor": "identity", "rounds": 300, "batch": 20, "step": 1.0}})
    new = frame.drop(columns=["state"])[["job", "age, years"]]
    assert np.mean(result.model.predict(new) == frame["state"]) > 0.8
    assert result.model.predict_proba(new).sum(axis=1) == pytest.approx(1)
    with pytest.raises(ValueError, match="schema"):
        result.model.predict(np.ones((3, 2)))


def test_regression(two_classes):
    X, _ = two_classes
    y = X @ np.array([1.0, -2, 0.5, 0, 3]) + 1
    config = {"model": {"name": "linear", "loss": "squared"}, "network.agents": 4,
              "algorithm": {"name": "beer", "rounds": 300, "step": 0.2, "batch": 50, "compressor": "identity",
                            "consensus": 0.5}}
    result = porterdp.run(config, data=(X, y), test=(X, y))
    assert result.metrics.last["test_r2"] > 0.99
    assert result.model.predict(X[:4]) == pytest.approx(y[:4], abs=0.2)


def test_step_by_step_is_the_same(two_classes, quick, tmp_path):
    whole = porterdp.run(quick, data=two_classes)
    one, other = (porterdp.Simulation(quick, data=two_classes) for _ in range(2))
    one.step(80)
    one.checkpoint(tmp_path / "half.npz")
    other.restore(tmp_path / "half.npz")
    assert other.round == 80
    other.step(120)
    assert other.finished
    assert np.array_equal(other.iterates, whole.arrays["X"])
    assert other.evaluate()["round"] == 200
    with pytest.raises(ValueError, match="rounds"):
        other.step()


def test_iterates_are_a_view_that_outlives_the_run(two_classes, quick):
    run = porterdp.Simulation(quick, data=two_classes)
    view = run.iterates
    before = view.copy()
    run.step(5)
    assert not np.array_equal(view, before), "no copy"
    assert not view.flags.writeable
    del run
    assert np.isfinite(view).all()


@pytest.mark.parametrize("each", [False, True])
def test_rows_are_read_where_they_lie(two_classes, quick, each):
    def data(X, y):
        return [(X[i:i + 500], y[i:i + 500]) for i in range(0, 2000, 500)] if each else (X, y)

    X, y = two_classes
    quick["data"] = {"bias": False}
    as_they_were = porterdp.run(quick, data(X.copy(), y)).arrays["X"]
    held = sys.getrefcount(X)
    run = porterdp.Simulation(quick, data(X, y))
    assert sys.getrefcount(X) > held
    X *= 2  # nobody should, and it shows that there is no other X
    run.step(200)
    assert not np.array_equal(run.iterates, as_they_were)
    del run
    gc.collect()
    assert sys.getrefcount(X) == held


def test_secret_noise_has_a_guarantee_and_needs_public_classes(two_classes, tmp_path):
    config = {"algorithm": {"name": "porter-dp", "rounds": 20, "step": 0.1, "batch": 8}, "network.agents": 4,
              "privacy": {"epsilon": 2, "noise": "secure"}}
    with pytest.raises(porterdp.PrivacyError, match="classes"):
        porterdp.run(config, data=two_classes)
    result = porterdp.run(config, data=two_classes, classes=[0, 1], out=tmp_path / "run")
    assert result.privacy.guaranteed and result.privacy.epsilon[1] <= 2
    assert np.isnan(result.metrics.loss).all(), "nothing is computed from raw data"
    with pytest.raises(porterdp.PrivacyError, match="ledger"):
        porterdp.Simulation(config, data=two_classes, classes=[0, 1]).step()


def test_a_broken_record_is_an_error_or_counts_for_nothing(two_classes, quick):
    X, y = two_classes
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3: expected finite"):
        porterdp.run(quick, data=(X, y))
    private = {"algorithm": {"name": "porter-dp", "rounds": 5, "step": 0.1, "batch": 500}, "network.agents": 4,
               "privacy": {"epsilon": 2, "noise": "secure"}}
    porterdp.run(private, data=(X, y), classes=[0, 1])
    porterdp.run(private, data=(X, np.where(np.arange(len(y)) == 5, 7, y)), classes=[0, 1])


@pytest.mark.parametrize("data, text", [
    ((np.ones(5), np.ones(5)), "rows x features"),
    ((np.ones((5, 2)), np.arange(4)), "5 labels"),
    ((np.array([["a", "b"]]), np.array([1])), "expected numbers"),
    ((np.ones((5, 2)), np.ones(5)), "at least two classes"),
    ((np.ones((5, 2)), np.array([1.0, np.nan, 2, 1, 1])), "NaN"),
    ([(np.ones((4, 2)), np.array([0, 1, 0, 1])), (np.ones((5, 2)), np.array([0, 1, 0, 1, 1]))], "rows"),
    ([], "at least one agent"),
    ("X", "expected \\(X, y\\)"),
])
def test_says_what_is_wrong_with_data(data, text, quick):
    with pytest.raises(ValueError, match=text):
        porterdp.run({"algorithm": quick["algorithm"]}, data=data)


def test_a_frame_without_its_label(quick):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2], "b": ["x", "y"], "c": [0, 1]})
    for arguments, text in ((dict(), "label"), (dict(label="d"), "no column 'd'"), (dict(label="c"), "'b' holds no")):
        with pytest.raises(ValueError, match=text):
            porterdp.run(quick, data=frame, **arguments)


def test_configs_in_every_form(tmp_path):
    text = "[algorithm]\nrounds = 3\n"
    (tmp_path / "c.toml").write_text(text)
    for config in (text, {"algorithm": {"rounds": 3}}, {"algorithm.rounds": 3}, tmp_path / "c.toml",
                   str(tmp_path / "c.toml")):
        assert porterdp.Simulation(config).rounds == 3
    assert porterdp.Simulation(text, set={"algorithm.rounds": 4}).rounds == 4
    for config, error in (({"algorithm.step": -1}, "step"), ({"algorithm": 3}, "section"), (3, "expected a path")):
        with pytest.raises(ValueError, match=error):
            porterdp.Simulation(config)
    with pytest.raises(OSError, match="nowhere.toml"):
        porterdp.Simulation("nowhere.toml")


def test_a_callback_that_raises_ends_the_run_and_it_goes_on(two_classes, quick, tmp_path):
    config = {**quick, "run": {"evaluate": "log-all:20", "checkpoint": "every:10"}}

    def stop(row):
        if row["round"] > 50:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        porterdp.run(config, data=two_classes, callbacks=stop, out=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["status"] == "interrupted"
    resumed = porterdp.run(config, data=two_classes, out=tmp_path / "run")
    assert np.array_equal(resumed.arrays["X"], porterdp.run(config, data=two_classes).arrays["X"])
    early = porterdp.run(config, data=two_classes, callbacks=lambda row: row["round"] < 50)
    assert early.status == "interrupted"


def test_an_interrupt_ends_the_run(tmp_path):
    # The signal comes once the run has begun: before that anything would be interrupted.
    script = ("import os, signal, threading, porterdp\n"
              "def begun(row):\n"
              "    print('begun', flush=True)\n"
              "    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
              "porterdp.run({'algorithm': {'rounds': 100000000}, 'run.evaluate': 'end'}, callbacks=begun)\n")
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert ended.stdout == "begun\n" and ended.returncode != 0 and "KeyboardInterrupt" in ended.stderr


def test_folders_reports_comparisons(two_classes, quick, tmp_path):
    runs = [porterdp.run(quick, data=two_classes, set={"run.seed": seed}, out=tmp_path / f"s{seed}") for seed in (1, 2)]
    table = porterdp.compare(runs)
    assert len(table) == 1 and table[0]["seeds"] == 2 and len(porterdp.compare(runs, each_seed=True)) == 2
    assert "<table" in table._repr_html_() and "porter-gc" in str(table)
    runs[0].report(tmp_path / "one.html")
    porterdp.report(runs, tmp_path / "two.html", title="Two seeds")
    assert "Two seeds" in (tmp_path / "two.html").read_text()
    kept = porterdp.run(quick, data=two_classes)
    kept.save(tmp_path / "kept")
    assert porterdp.load(tmp_path / "kept").metrics.loss[-1] == kept.metrics.loss[-1]
    with pytest.raises(OSError, match="no run"):
        porterdp.load(tmp_path)
    with pytest.raises(OSError, match="there already"):
        kept.save(tmp_path / "kept")


def test_a_sweep_of_a_regression_has_targets(two_classes, tmp_path):
    X, _ = two_classes
    base = {"network.agents": 4, "algorithm": {"name": "dsgd", "rounds": 50, "batch": 50, "compressor": "identity"}}
    porterdp.sweep(base, {"algorithm.step": [0.1, 0.2]}, data=(X, X[:, 0] * 0.5), seeds=1, out=tmp_path / "sweep",
                   set={"model.name": "linear", "model.loss": "squared"})
    assert np.load(tmp_path / "sweep.config" / "train.npz")["y"] == pytest.approx(X[:, 0] * 0.5)


def test_classes_of_another_kind(two_classes, quick):
    with pytest.raises(ValueError, match="of the kind that y has"):
        porterdp.run(quick, data=two_classes, classes=["0", "1"])


def test_agents_that_contradict(two_classes, quick):
    with pytest.raises(ValueError, match="network.agents: expected 6, as graph has them, found 4"):
        porterdp.run(quick, data=two_classes, graph=porterdp.graph("ring", 6))


def test_sweeps(two_classes, quick, tmp_path):
    found = porterdp.sweep(quick, {"algorithm.step": [0.01, 0.5]}, data=two_classes, seeds=1, out=tmp_path / "sweep")
    assert "step = 0.5" in found.best
    assert (tmp_path / "sweep" / "report.html").exists() and "<table" in found._repr_html_()


def test_threads_of_python_go_on(two_classes, quick):
    """A run lets go of the interpreter."""
    import threading
    import time
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    porterdp.run({**quick, "algorithm": {**quick["algorithm"], "rounds": 20000}, "run.evaluate": "end"},
                 data=two_classes)
    done.set()
    thread.join()
    assert len(ticks) > 10


def test_nothing_leaks(two_classes, quick):
    """Simulations come and go in the same memory."""
    import resource
    config = {**quick, "algorithm": {**quick["algorithm"], "rounds": 2}, "run": {"threads": 1, "evaluate": "end"}}

    def many(count):
        for _ in range(count):
            run = porterdp.Simulation(config, data=two_classes)
            run.step(2)
            run.iterates
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    first = many(100)
    room = 400_000 if "asan" in os.environ.get("LD_PRELOAD", "") else 20_000  # it keeps what was freed for a while
    assert many(900) < first + room, "kilobytes"
