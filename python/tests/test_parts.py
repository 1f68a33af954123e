# SPDX-License-Identifier: Apache-2.0
"""Graphs, weights, compressors."""
import numpy as np
import pytest

import porterdp


def test_graphs_and_weights():
    ring = porterdp.graph("ring", 6)
    assert ring.nodes == 6 and len(ring.edges) == 6 and ring.neighbours(0) == [1, 5]
    W = porterdp.mixing(ring)
    assert np.allclose(W.W.sum(axis=0), 1) and np.allclose(W.W.sum(axis=1), 1)
    centred = W.W - np.full((6, 6), 1 / 6)
    assert np.linalg.norm(centred, 2) == pytest.approx(W.alpha, abs=1e-9)
    assert W.alpha_lower_bound <= W.alpha + 1e-9 and W.gap == 1 - W.alpha
    assert porterdp.graph([(0, 1), (2, 1)]).edges == [(0, 1), (1, 2)]
    with pytest.raises(ValueError, match="connected"):
        porterdp.graph([(0, 1)], 3)
    with pytest.raises(ValueError, match="below 6"):
        ring.neighbours(6)


def test_networkx_both_ways():
    networkx = pytest.importorskip("networkx")
    star = porterdp.graph(networkx.star_graph(4))
    assert star.nodes == 5 and networkx.is_isomorphic(porterdp.to_networkx(star), networkx.star_graph(4))


def test_runs_on_given_graphs_and_weights(two_classes, quick):
    ring = porterdp.graph("ring", 4)
    W = porterdp.mixing(ring, "metropolis").W
    named = porterdp.run(quick, data=two_classes, set={"network.graph": "ring", "network.mixing": "metropolis"})
    given = porterdp.run(quick, data=two_classes, graph=ring, W=W)
    assert np.array_equal(given.arrays["X"], named.arrays["X"])
    assert np.array_equal(porterdp.run(quick, data=two_classes, W=W).arrays["X"], named.arrays["X"])
    assert np.array_equal(porterdp.run(quick, data=two_classes, compressor="top_k:0.5").arrays["X"],
                          porterdp.run(quick, data=two_classes, compressor=porterdp.compressor("top_k:0.5")).arrays["X"])
    for wrong in (np.eye(3), np.full((4, 4), 0.25), W * 1.1, W * np.nan, np.eye(4)):
        with pytest.raises(ValueError, match="W"):
            porterdp.run(quick, data=two_classes, graph=ring, W=wrong)


def test_compressors_have_their_bytes_and_bounds():
    x = np.random.default_rng(1).normal(size=1000)
    for spec in porterdp.compressors():
        C = porterdp.compressor(spec)
        payload = C.encode(x, seed=3, agent=2, round=5)
        assert np.array_equal(C.decode(payload, 1000, seed=3, agent=2, round=5), C(x, seed=3, agent=2, round=5))
        with pytest.raises(porterdp.ProtocolError):
            C.decode(payload[:-1], 1000, seed=3, agent=2, round=5)
    top = porterdp.compressor("top_k:0.1")
    assert np.sum((top(x) - x) ** 2) <= (1 - top.rho(1000)) * np.sum(x ** 2)
    assert np.count_nonzero(top(x)) == 100 and len(top.encode(x)) < 4 * 1000
    assert porterdp.compressor("random_k:0.1", unbiased=True).omega(1000) == pytest.approx(9)
    assert top(x.reshape(10, 100)).shape == (10, 100)
    with pytest.raises(ValueError, match="top_q"):
        porterdp.compressor("top_q:3")
    with pytest.raises(ArithmeticError):
        top.encode([1.0, np.nan])
