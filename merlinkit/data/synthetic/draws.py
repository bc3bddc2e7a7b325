"""Random numbers as a function of seed, name and index, in no order and with no state."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Draws", "zipf_ranks"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
# Nearer to 1 than this, the general formula loses more digits than the one for 1 is off.
_NEAR_ONE = 1e-9


class Draws:
    """Counter-based random numbers: any index can be drawn alone, in any order, any time.

    Each name is a stream of its own, keyed by a BLAKE2 hash of seed and name; within a stream
    the numbers are those of SplitMix64 at position `index`. Nothing depends on NumPy's own
    generators, whose streams may change between releases.

    Parameters
    ----------
    seed
        Any whole number.

    Notes
    -----
    Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64);
    Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (the idea of counters).

    Examples
    --------
    >>> draws = Draws(7)
    >>> index = np.arange(4)
    >>> bool((draws.uniform("price", index)[2:] == draws.uniform("price", index[2:])).all())
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def bits(self, name: str, index: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return 64 random bits for each index.

        Parameters
        ----------
        name
            Name of the stream.
        index
            Int64 array of any shape, values of 0 and above.

        Returns
        -------
        numpy.ndarray
            UInt64 array of the same shape.
        """
        z = index.astype(np.uint64)
        z *= _STEP
        z += _key(self.seed, name)
        z ^= z >> np.uint64(30)
        z *= _MIX_1
        z ^= z >> np.uint64(27)
        z *= _MIX_2
        z ^= z >> np.uint64(31)
        return z

    def uniform(self, name: str, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return numbers in [0, 1), of the shape of `index`."""
        return (self.bits(name, index) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def centered(self, name: str, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return uniform numbers of mean 0 and variance 1, of the shape of `index`."""
        return (self.uniform(name, index) - 0.5) * math.sqrt(12.0)

    def normal(self, name: str, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return standard normal numbers (Box and Muller 1958), of the shape of `index`."""
        radius = np.sqrt(-2.0 * np.log1p(-self.uniform(name, index)))
        angle = (2.0 * math.pi) * self.uniform(name + "/angle", index)
        return radius * np.cos(angle)

    def below(self, name: str, index: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
        """Return whole numbers in [0, limit), of the shape of `index`."""
        return (self.bits(name, index) % np.uint64(limit)).astype(np.int64)


@lru_cache(maxsize=4096)
def _key(seed: int, name: str) -> np.uint64:
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def zipf_ranks(uniform: NDArray[np.float64], count: int, exponent: float) -> NDArray[np.int64]:
    """Return ranks 0 … count-1 with a popularity like Zipf's, without a table of weights.

    Rank k gets the integral of ``x ** -exponent`` over [k + 1, k + 2], in closed form, so it
    costs no memory however many ranks there are.

    Parameters
    ----------
    uniform
        Float64 array of numbers in [0, 1).
    count
        Number of ranks.
    exponent
        0 makes all ranks equally likely; 1 is Zipf's law.

    Examples
    --------
    >>> zipf_ranks(np.array([0.0, 0.3, 0.9]), 10, 0.0).tolist()
    [0, 3, 9]
    >>> zipf_ranks(np.array([0.0, 0.3, 0.9]), 10, 1.0).tolist()
    [0, 1, 7]
    """
    end = float(count + 1)
    if abs(exponent - 1.0) < _NEAR_ONE:
        place = np.power(end, uniform)
    else:
        power = 1.0 - exponent
        place = np.power(1.0 + uniform * (end**power - 1.0), 1.0 / power)
    # Rounding can push the last place just past the end.
    return np.clip(place.astype(np.int64) - 1, 0, count - 1)
