# SPDX-License-Identifier: Apache-2.0
"""Compressors as functions on arrays, with the exact bytes that would travel."""
import numpy as np

from . import _core

__all__ = ["Compressor", "compressor", "compressors"]


class Compressor:
    """C(x). Random ones draw as agent `agent` does in round `round` of a run with this `seed`.

    >>> C = compressor("top_k:k=2")
    >>> C(np.array([1.0, -3.0, 2.0]))
    array([ 0., -3.,  2.], dtype=float32)
    """

    def __init__(self, spec, unbiased=False):
        self.spec, self.unbiased = spec, unbiased
        self._made = _core.make_compressor(spec, unbiased)

    def encode(self, x, *, seed=1, agent=0, round=1):
        """The bytes of C(x), a checksum included."""
        return self._made.encode(np.ravel(x), seed, agent, round)

    def decode(self, payload, dim, *, seed=1, agent=0, round=1):
        """C(x) from its bytes."""
        return self._made.decode(payload, dim, seed, agent, round)

    def __call__(self, x, *, seed=1, agent=0, round=1):
        x = np.asarray(x)
        payload = self.encode(x, seed=seed, agent=agent, round=round)
        return self.decode(payload, x.size, seed=seed, agent=agent, round=round).reshape(x.shape)

    def rho(self, dim):
        """E|C(x) - x|^2 <= (1 - rho) |x|^2, or None."""
        return self._made.rho(dim)

    def omega(self, dim):
        """E|C(x) - x|^2 <= omega |x|^2 where E C(x) = x, or None."""
        return self._made.omega(dim)

    def __repr__(self):
        return f"compressor({self.spec!r}{', unbiased=True' if self.unbiased else ''})"


def compressor(spec, unbiased=False):
    """A compressor from text as `algorithm.compressor` has it."""
    return Compressor(spec, unbiased)


def compressors():
    """What there is: examples of specs, and a line about each."""
    return dict(_core.compressors())
