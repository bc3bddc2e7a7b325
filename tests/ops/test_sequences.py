"""Operators on rows that belong together: naive references, buckets, and what they refuse."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from merlinkit import Dataset, Workflow, by_tags, ops
from merlinkit.errors import SchemaError
from merlinkit.workflow import program
from merlinkit.workflow.graph import as_node


def events(rows: int, seed: int) -> pl.DataFrame:
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "user": [rng.choice(["a", "b", "c", "ü", None]) for _ in range(rows)],
            "ts": [rng.choice([None, *range(30)]) for _ in range(rows)],
            "item": list(range(rows)),
            "price": [rng.choice([None, 1.5, 2.0, 1e9]) for _ in range(rows)],
        },
        schema={"user": pl.String, "ts": pl.Int64, "item": pl.Int64, "price": pl.Float64},
    )


def by_user(frame: pl.DataFrame) -> dict[str | None, list[dict]]:
    groups: dict[str | None, list[dict]] = {}
    for row in frame.to_dicts():
        groups.setdefault(row["user"], []).append(row)
    for rows in groups.values():
        # Null times first, ties by item.
        rows.sort(key=lambda row: (row["ts"] is not None, row["ts"] or 0, row["item"]))
    return groups


@pytest.mark.parametrize("seed", range(4))
def test_lags_are_those_of_a_loop(seed):
    frame = events(60, seed)
    node = ["item"] >> ops.Lag("user", "ts", shift=[1, 3, -2])
    found = Workflow(node + ["item"]).fit_transform(frame).collect().to_dicts()
    expected = {}
    for rows in by_user(frame).values():
        for index, row in enumerate(rows):
            for shift in (1, 3, -2):
                other = index - shift
                expected[row["item"], shift] = (
                    rows[other]["item"] if 0 <= other < len(rows) else None
                )
    for row in found:
        for shift in (1, 3, -2):
            assert row[f"item_lag_{shift}"] == expected[row["item"], shift]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_length", [None, 3])
def test_sessions_are_those_of_a_loop(seed, max_length):
    frame = events(80, seed)
    node = ["user", "ts", "item"] >> ops.Sessionize("user", "ts", 2, max_length=max_length)
    found = {row["item"]: row for row in Workflow(node).fit_transform(frame).collect().to_dicts()}
    ids = []
    for user, rows in by_user(frame).items():
        current: list[dict] = []
        before = None
        for row in rows:
            if user is None or row["ts"] is None:
                assert found[row["item"]]["session_id"] is None
                assert found[row["item"]]["session_position"] is None
                continue
            gap = before is None or row["ts"] - before > 2
            if gap or len(current) == max_length:
                current = []
                ids.append(found[row["item"]]["session_id"])
            assert found[row["item"]]["session_position"] == len(current)
            assert found[row["item"]]["session_id"] == ids[-1]
            current.append(row)
            before = row["ts"]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("seed", range(4))
def test_k_core_is_that_of_a_loop(seed):
    rng = random.Random(seed)
    rows = [(rng.randrange(30), rng.randrange(25)) for _ in range(120)]
    kept = rows
    while True:
        users = [u for u, _ in kept]
        step = [(u, i) for u, i in kept if users.count(u) >= 3]
        items = [i for _, i in step]
        step = [(u, i) for u, i in step if items.count(i) >= 3]
        if step == kept:
            break
        kept = step
    frame = pl.DataFrame(rows, schema={"user": pl.Int64, "item": pl.Int64}, orient="row")
    node = ["user", "item"] >> ops.KCore("user", "item", min_user=3, min_item=3)
    assert Workflow(node).fit_transform(frame).collect().rows() == kept
    assert 0 < len(kept) < len(rows)


def test_k_core_can_leave_evaluation_alone():
    frame = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "c"]})
    workflow = Workflow(["item"] >> ops.KCore("user", "item", min_user=2, training_only=True))
    assert workflow.fit_transform(frame).collect()["item"].to_list() == ["a", "b"]
    assert workflow.transform(frame).collect()["item"].to_list() == ["a", "b", "c"]


@pytest.fixture
def files(tmp_path):
    """Events of five users, spread over seven files."""
    frame = events(200, seed=1)
    for index in range(7):
        frame[index::7].write_parquet(tmp_path / f"{index}.parquet")
    return frame, Dataset(tmp_path)


GRAPHS = {
    "lag": lambda: (["ts"] >> ops.DifferenceLag("user", ["ts", "item"])) + ["item"],
    "lag then fit": lambda: (
        (
            ["ts"]
            >> ops.DifferenceLag("user", ["ts", "item"])
            >> ops.FillMissing(0)
            >> ops.Normalize()
        )
        + (["item"] >> ops.Categorify())
    ),
    "sessions of the same user": lambda: (
        ["user", "item", "ts"]
        >> ops.Sessionize("user", "ts", 3)
        >> ops.Groupby("session_id", {"item": "list", "user": "first"}, "session_position")
        >> ops.Rename(mapping={"item_list": "items"})
    ),
    "lists of ids": lambda: (
        (["user", "item", "ts"] >> ops.Groupby("user", {"item": ["list", "count"]}, "ts"))[
            "item_list", "item_count"
        ]
        >> ops.AddTags(["sequence"])
    ),
    "filter and lag": lambda: (
        as_node(["ts", "item"]) >> ops.Filter("ts > 5") >> ops.DifferenceLag("user", "ts")
    ),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_buckets_give_what_one_frame_gives(graph, files, tmp_path, monkeypatch):
    frame, data = files
    one = Workflow(graph()).fit(frame)
    expected = one.transform(frame, training=True).collect()
    monkeypatch.setattr(program, "BUCKET_ROWS", 50)
    many = Workflow(graph()).fit(data)
    many.transform(data, training=True).to_parquet(tmp_path / "out")
    found = pl.concat(
        [pl.read_parquet(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    )
    assert len(list((tmp_path / "out").glob("*.parquet"))) > 1
    assert_frame_equal(found, expected, check_row_order=False)


def test_tags_and_domains_go_through_groupby():
    frame = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "ts": [2, 1, 3]})
    encoded = ["item"] >> ops.Categorify() >> ops.TagAsItemID()
    node = (["user", "ts"] + encoded) >> ops.Groupby("user", {"item": ["list", "last"]}, "ts")
    workflow = Workflow(node).fit(frame)
    column = workflow.output_schema["item_list"]
    assert (column.is_list, column.cardinality) == (True, 5)
    assert {"item_id", "categorical", "list"} <= column.tags
    assert column.properties["padding_id"] == 0
    assert workflow.transform(frame).collect()["item_list"].to_list() == [[4, 3], [3]]


def test_columns_of_other_rows_are_refused():
    node = (["user", "item"] >> ops.Groupby("user", "list")) + ["price"]
    with pytest.raises(SchemaError, match="'price' has a row for each row of the data"):
        Workflow(node).fit(events(5, 0))


@pytest.mark.parametrize(
    ("columns", "operator", "message"),
    [
        (["item"], ops.Lag("usr", "ts"), "'usr', which it needs, is neither in the data nor"),
        (["user"], ops.DifferenceLag("user", "ts"), "'user' is String, a number, date or time"),
        (["item"], ops.Lag("tags", "ts"), "partition_cols names column 'tags', which is List"),
        (["tags"], ops.Lag("user", "ts"), "'tags' holds lists"),
        (["item"], ops.Sessionize("user", "user", 1), "'user' is String, a number, date or"),
        (["item"], ops.Groupby("user"), "groupby_cols names column 'user', which is not among"),
        (["user", "tags"], ops.Groupby("user"), "'tags' holds lists; first and last go with it"),
        (["user", "item"], ops.Groupby("item", {"user": "sum"}), "'user' is String, a number"),
        (["user", "item"], ops.Groupby("item", "list", "ts"), "sort_cols names column 'ts'"),
        (["item"], ops.KCore("user", "tags", 2), "item_col names column 'tags', which is List"),
    ],
)
def test_columns_that_do_not_fit(columns, operator, message):
    frame = events(3, 0).with_columns(tags=pl.Series([[1], [2], []], dtype=pl.List(pl.Int64)))
    with pytest.raises(SchemaError, match=message):
        Workflow(columns >> operator).fit(frame)


def test_serving_without_the_group_column_loses_the_lag():
    node = (["ts"] >> ops.DifferenceLag("user", "ts")) + ["item"]
    workflow = Workflow(node).fit(events(20, 0)).remove_inputs("user")
    assert workflow.output_schema.names == ["item"]


def test_by_tags_with_columns_needed_besides():
    frame = events(9, 0)
    data = Workflow(as_node(["user", "item"]) + (["ts"] >> ops.AddTags(["time"]))).fit(frame)
    schema = data.output_schema
    assert schema["ts"].tags == {"time"}
    node = by_tags("time") >> ops.DifferenceLag("user", "ts")
    assert Workflow(node).fit_schema(schema).names == ["ts_difference_lag_1"]


@pytest.mark.parametrize("strategy", ["uniform", "popularity"])
def test_negatives_are_drawn_as_the_strategy_says(strategy):
    rng = random.Random(5)
    items = rng.choices(range(5), weights=[1, 1, 2, 4, 8], k=4_000)
    frame = pl.DataFrame({"user": list(range(4_000)), "item": items, "label": [1] * 4_000})
    operator = ops.NegativeSampling(
        2, "user", "item", "label", strategy=strategy, exclude_seen=False
    )
    workflow = Workflow(["user", "item", "label"] >> operator)
    drawn = workflow.fit_transform(frame).collect().filter(pl.col("label") == 0)
    assert drawn.height == 8_000
    shares = dict(drawn["item"].value_counts(normalize=True).iter_rows())
    for item in range(5):
        expected = 0.2 if strategy == "uniform" else items.count(item) / 4_000
        # Four standard deviations of a share of 8,000 draws.
        assert abs(shares[item] - expected) < 4 * (expected / 8_000) ** 0.5
    assert workflow.transform(frame).collect().equals(frame)


def test_negatives_are_new_to_the_user():
    rng = random.Random(6)
    frame = pl.DataFrame(
        {
            "user": [rng.randrange(40) for _ in range(500)],
            "item": [rng.randrange(60) for _ in range(500)],
            "label": [rng.randrange(2) for _ in range(500)],
        }
    )
    node = ["user", "item", "label"] >> ops.NegativeSampling(3, "user", "item", "label")
    result = Workflow(node).fit_transform(frame).collect()
    assert result[:500].equals(frame)
    seen = set(frame.select("user", "item").rows())
    assert not seen & set(result[500:].select("user", "item").rows())
    assert result.height > 500 + 3 * frame["label"].sum() * 0.99
