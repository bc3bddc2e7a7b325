"""Worked examples of sampled negatives, by a loop over rows and the reference hash."""

from __future__ import annotations

import struct

import polars as pl
import xxhash

from merlinkit import ops
from merlinkit.engine.dialect import HASH_SEED
from tests.ops.examples.example import Example

CLICKS = pl.DataFrame(
    {
        "user": ["u", "u", "v", "v", None],
        "item": [10, 20, 20, 30, 10],
        "brand": ["A", "B", "B", None, "A"],
        "label": [1, 0, 1, 1, None],
    },
    schema_overrides={"label": pl.Int8},
)
ITEMS = [(10, "A"), (20, "B"), (30, None)]
# Two rows of 10, two of 20, one of 30.
SHARES = [0, 2 / 5, 4 / 5, 1]


def hashed(value: str | int | None) -> int:
    if value is None:
        return 0
    data = value.encode() if isinstance(value, str) else struct.pack("<q", value)
    return xxhash.xxh64_intdigest(data, HASH_SEED)


def cross(*members: int) -> int:
    combined = members[0]
    for member in members[1:]:
        combined = (combined * 0x9E3779B97F4A7C15 + member) % 2**64
    return combined


def with_negatives(n: int, popular: bool, exclude: bool, seed: int) -> dict[str, list]:
    rows = CLICKS.rows()
    seen = {(user, item) for user, item, _, _ in rows}
    out = list(rows)
    for number in range(n):
        for row in rows:
            if row[3] != 1:
                continue
            own = cross(seed, *map(hashed, row))
            for attempt in range(4 if exclude else 1):
                word = struct.pack("<Q", cross(own, number * 4 + attempt))
                bits = xxhash.xxh64_intdigest(word, HASH_SEED)
                if popular:
                    place = (bits % 2**20 + 0.5) / 2**20
                    index = max(i for i in range(3) if SHARES[i] <= place)
                else:
                    index = bits % 3
                item, brand = ITEMS[index]
                if not exclude or (row[0], item) not in seen:
                    out.append((row[0], item, brand, 0))
                    break
    return {name: [row[i] for row in out] for i, name in enumerate(CLICKS.columns)}


def example(id: str, n: int, strategy: str, exclude_seen: bool, seed: int) -> Example:
    return Example(
        id,
        ops.NegativeSampling(
            n, "user", "item", "label", "brand", strategy, exclude_seen=exclude_seen, seed=seed
        ),
        ["user", "item", "brand", "label"],
        CLICKS,
        with_negatives(n, strategy == "popularity", exclude_seen, seed),
        {"user": pl.String(), "item": pl.Int64(), "brand": pl.String(), "label": pl.Int8()},
        ordered=False,
    )


EXAMPLES: tuple[Example, ...] = (
    example("negative-sampling-uniform", 2, "uniform", True, 1),
    example("negative-sampling-seen-as-well", 3, "uniform", False, 2),
    example("negative-sampling-by-popularity", 4, "popularity", True, 3),
)

_COLUMNS = {"user_col": "u", "item_col": "i", "label_col": "y"}
BAD_PARAMETERS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("NegativeSampling", {"n": 0, **_COLUMNS}, "at least 1 expected"),
    ("NegativeSampling", {"n": 1, "user_col": "u"}, "parameter 'item_col' is missing"),
    ("NegativeSampling", {"n": 1, **_COLUMNS, "item_cols": "y"}, "'y' is named for two things"),
    ("NegativeSampling", {"n": 1, **_COLUMNS, "strategy": "random"}, "one of 'uniform', 'popu"),
    ("NegativeSampling", {"n": 1, **_COLUMNS, "exclude_seen": 1}, "true or false expected"),
    ("NegativeSampling", {"n": 1, **_COLUMNS, "seed": -1}, "at least 0 expected"),
)
