"""Who the users are, what the items are, and the planted probability of a click."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merlinkit.data.synthetic.draws import Draws, zipf_ranks
from merlinkit.data.synthetic.spec import SyntheticSpec

__all__ = ["MAX_TAGS", "TAG_COUNT", "Truth", "World"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# A prime, so that steps of any size through the tags meet no tag twice.
TAG_COUNT = 47
MAX_TAGS = 4

# Standard deviation (or range) that each part has in the logit.
_TASTE = 1.3
_TAGS = 0.8
_POPULARITY = 0.5
_BRAND = 0.4
_PRICE = 0.4
_TREND = 0.5


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of rows and hidden from a model; Float64 arrays of shape [rows].

    Parameters
    ----------
    affinity
        How well user and item match, at that time.
    probability
        P(click = 1), label noise included.
    """

    affinity: Floats
    probability: Floats


class World:
    """The people and items of one seed, as pure functions of their numbers.

    Nothing is held for each user or item: every property is drawn again from the number when
    it is needed. The only table is that of the tags (47 vectors), so memory does not grow with
    users, items or rows.

    Parameters
    ----------
    spec
        Sizes, exponents, drift and seed.
    """

    def __init__(self, spec: SyntheticSpec) -> None:
        self.spec = spec
        self.draws = Draws(spec.seed)
        self.num_brands = min(max(spec.num_items // 20, 5), 5_000)
        self.num_cities = min(max(spec.num_users // 100, 10), 2_000)
        self._tag_vectors = [
            self.draws.centered(f"tag/taste/{d}", np.arange(TAG_COUNT))
            for d in range(spec.latent_dim)
        ]
        self._user_shuffle = self._shuffle("user", spec.num_users)
        self._item_shuffle = self._shuffle("item", spec.num_items)

    # -- who and what; users and items are given by popularity rank ---------------------------

    def users(self, rows: Ints) -> Ints:
        """Return the user of each row."""
        draw = self.draws.uniform("row/user", rows)
        return zipf_ranks(draw, self.spec.num_users, self.spec.user_zipf)

    def items(self, rows: Ints) -> Ints:
        """Return the item of each row."""
        draw = self.draws.uniform("row/item", rows)
        return zipf_ranks(draw, self.spec.num_items, self.spec.item_zipf)

    def user_numbers(self, users: Ints) -> Ints:
        """Return distinct numbers 0 … users-1 that do not tell how active a user is."""
        factor, shift = self._user_shuffle
        return (users * factor + shift) % self.spec.num_users

    def item_numbers(self, items: Ints) -> Ints:
        """Return distinct numbers 0 … items-1 that do not tell how popular an item is."""
        factor, shift = self._item_shuffle
        return (items * factor + shift) % self.spec.num_items

    def brands(self, items: Ints) -> Ints:
        """Return the brand of each item, 0 … num_brands-1, few of them with most items."""
        return zipf_ranks(self.draws.uniform("item/brand", items), self.num_brands, 1.0)

    def cities(self, users: Ints) -> Ints:
        """Return the city of each user, 0 … num_cities-1, few of them with most users."""
        return zipf_ranks(self.draws.uniform("user/city", users), self.num_cities, 1.0)

    def price_levels(self, items: Ints) -> Floats:
        """Return the log price of each item, standardised and without extremes."""
        return np.clip(self.draws.normal("item/price", items), -3.0, 3.0)

    def tag_counts(self, items: Ints) -> Ints:
        """Return how many tags each item has, 0 … MAX_TAGS."""
        return self.draws.below("item/tag_count", items, MAX_TAGS + 1)

    def tags(self, items: Ints) -> list[Ints]:
        """Return MAX_TAGS arrays of distinct tags; an item has the first `tag_counts` of them."""
        first = zipf_ranks(self.draws.uniform("item/tag", items), TAG_COUNT, 1.0)
        step = 1 + self.draws.below("item/tag_step", items, TAG_COUNT - 1)
        return [(first + k * step) % TAG_COUNT for k in range(MAX_TAGS)]

    # -- the planted truth --------------------------------------------------------------------

    def truth(self, users: Ints, items: Ints, progress: Floats) -> Truth:
        """Return affinity and click probability.

        ``logit = bias + affinity + popularity + brand - price + trend`` with ``affinity =
        1.3 <u, v> / sqrt(d) + 0.8 <u, t> / sqrt(d * n)``. Here u is the taste of the user, which
        turns from one vector towards another by ``drift * 90`` degrees over the whole log; v is
        the character of the item, and t the sum of the vectors of its n tags.

        Parameters
        ----------
        users, items
            Int64 arrays of shape [rows].
        progress
            Float64 array of shape [rows], 0 at the start of the log and 1 at its end.
        """
        spec, draws = self.spec, self.draws
        angle = progress * (spec.drift * math.pi / 2)
        before, after = np.cos(angle), np.sin(angle)
        counts = self.tag_counts(items)
        held = [(tags, counts > k) for k, tags in enumerate(self.tags(items))]
        match, tag_match = np.zeros(len(users)), np.zeros(len(users))
        # One dimension after the other, so that no [rows, latent_dim] array is needed.
        for d in range(spec.latent_dim):
            taste = before * draws.centered(f"user/taste/{d}", users)
            taste += after * draws.centered(f"user/later_taste/{d}", users)
            match += taste * draws.centered(f"item/character/{d}", items)
            vector = self._tag_vectors[d]
            tag_match += taste * sum(vector[tags] * has for tags, has in held)
        match /= math.sqrt(spec.latent_dim)
        tag_match /= np.sqrt(spec.latent_dim * np.maximum(counts, 1))
        affinity = _TASTE * match + _TAGS * tag_match
        logit = spec.bias + affinity
        logit += _POPULARITY * self._popularity(items)
        logit += _BRAND * draws.centered("brand/effect", self.brands(items))
        logit -= _PRICE * self.price_levels(items)
        logit += _TREND * spec.drift * (2.0 * progress - 1.0)
        clean = 1.0 / (1.0 + np.exp(-logit))
        noise = spec.label_noise
        return Truth(affinity, clean * (1.0 - 2.0 * noise) + noise)

    def _popularity(self, items: Ints) -> Floats:
        """Return 1 for the most popular item, falling to -1 with the logarithm of the rank."""
        span = math.log(max(self.spec.num_items, 2))
        return 1.0 - (2.0 / span) * np.log(items.astype(np.float64) + 1.0)

    def _shuffle(self, name: str, count: int) -> tuple[int, int]:
        """Return factor and shift of a one-to-one map of 0 … count-1."""
        zero = np.zeros(1, dtype=np.int64)
        factor = int(self.draws.below(f"shuffle/{name}/factor", zero, count)[0])
        while math.gcd(factor, count) != 1:
            factor += 1
        return factor, int(self.draws.below(f"shuffle/{name}/shift", zero, count)[0])
