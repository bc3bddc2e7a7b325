"""The plans of splits translate to cuDF and stay in many partitions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import polars as pl
import pytest

import merlinkit.data.splits.order_statistics as order_statistics
from merlinkit.data.splits import (
    PART_COLUMN,
    GivenSplit,
    LeaveLastSplit,
    RandomSplit,
    Split,
    TemporalSplit,
)
from merlinkit.engine.cpu import CpuEngine
from merlinkit.engine.cudf_dialect import CudfDialect
from merlinkit.engine.plan import is_available, prove
from merlinkit.errors import PlanError
from merlinkit.schema import Schema

pytestmark = pytest.mark.skipif(not is_available(), reason="needs cudf-polars: merlinkit[plan]")

ROWS = 1000
FRAME = pl.DataFrame(
    {
        "user": [number % 7 for number in range(ROWS)],
        "t": range(ROWS),
        "f": [number / 3 for number in range(ROWS)],
        "s": ["train", "test"] * (ROWS // 2),
        "b": [True, None] * (ROWS // 2),
        "d": [dt.date(2026, 1, 1 + number % 28) for number in range(ROWS)],
        "at": pl.Series(range(ROWS), dtype=pl.Datetime("us")),
        "zoned": pl.Series(range(ROWS), dtype=pl.Datetime("ns", "Europe/Rome")),
    }
)
SPLITS = [
    RandomSplit(),
    RandomSplit(keys=["user"]),
    TemporalSplit("t"),
    TemporalSplit("f"),
    TemporalSplit("at", valid=0.1, test=0.1),
    TemporalSplit("zoned", valid=0.1, test=0.1),
    TemporalSplit("d", valid_from="2026-01-03", test_from="2026-01-20"),
    LeaveLastSplit("user", "t", k_valid=2),
    LeaveLastSplit("user", "at"),
    GivenSplit("s"),
    GivenSplit("user", train=[0, 1, 2], valid=[3, 4], test=[5, 6]),
    GivenSplit("d", train="2026-01-01", test=[f"2026-01-{day:02d}" for day in range(2, 29)]),
]


class Proving(CpuEngine):
    """Proves each plan before it runs it."""

    def collect(self, plans: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
        for plan in plans:
            require_proof(plan)
        return super().collect(plans)


def require_proof(plan: pl.LazyFrame) -> None:
    proof = prove(plan)
    assert not proof.unsupported
    assert not proof.fallbacks


@pytest.mark.parametrize("split", SPLITS, ids=repr)
def test_plans_translate_and_stream(monkeypatch: pytest.MonkeyPatch, split: Split) -> None:
    # So that the search for quantiles makes passes over buckets too.
    monkeypatch.setattr(order_statistics, "COLLECT_ROWS", 100)
    fitted = split.fit(FRAME.lazy(), Proving())
    schema = Schema.from_polars(FRAME.schema)
    plan = fitted.assign(FRAME.lazy(), schema, CudfDialect())
    require_proof(plan)
    require_proof(plan.filter(pl.col(PART_COLUMN) == "train"))


def test_lists_cannot_break_ties_there() -> None:
    frame = FRAME.with_columns(tags=pl.concat_list("t"))
    schema = Schema.from_polars(frame.schema)
    with pytest.raises(PlanError, match="list column 'tags' cannot order the rows"):
        LeaveLastSplit("user", "t").assign(frame.lazy(), schema, CudfDialect())
    split = LeaveLastSplit("user", "t", tie_break=["f"])
    require_proof(split.assign(frame.lazy(), schema, CudfDialect()).drop("tags"))
