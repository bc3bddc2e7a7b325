"""Worked examples of operators that learn from the rows of a category."""

from __future__ import annotations

import polars as pl

from merlinkit import ops
from merlinkit.engine.cpu import CpuEngine
from tests.ops.examples.example import Example

NAN = float("nan")
ITEMS = pl.DataFrame(
    {
        "item": ["a", "b", None, "d"],
        "shop": [1, 1, 1, 2],
        "brand": ["X", "Y", "N", None],
        "tags": [["t"], [], None, ["u", "v"]],
    }
)

CLICKS = pl.DataFrame(
    {
        "city": ["a", "a", "a", "b", "b", None, None, "c"],
        "click": [1, 0, 1, 0, 0, 1, None, 1],
        "row": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)
# 4 of 7 known clicks.
MEAN = 4 / 7


def te(total: float, count: int, mean: float, smooth: float) -> float:
    return (total + smooth * mean) / (count + smooth)


def out_of_fold(folds: int, smooth: float) -> list[float]:
    """Encode each row of `CLICKS` by rows of other folds, in a loop."""
    operator = ops.TargetEncoding("click", kfold=folds, fold_by="row")
    schema = ops.base.Schema.from_polars(CLICKS.schema)
    fold = CLICKS.select(operator._fold(schema, CpuEngine().dialect)).to_series().to_list()
    rows = list(zip(CLICKS["city"], CLICKS["click"], fold, strict=True))
    out = []
    for city, _, own in rows:
        other = [click for _, click, f in rows if f != own and click is not None]
        same = [click for c, click, f in rows if f != own and click is not None and c == city]
        mean = sum(other) / len(other)
        out.append(te(sum(same), len(same), mean, smooth) if same else mean)
    return out


EXAMPLES: tuple[Example, ...] = (
    Example(
        "target-encoding-of-all-rows",
        ops.TargetEncoding("click", kfold=1, p_smooth=2),
        ["city"],
        CLICKS,
        {
            "TE_city_click": [te(2, 3, MEAN, 2)] * 3
            + [te(0, 2, MEAN, 2)] * 2
            + [te(1, 1, MEAN, 2)] * 2
            + [te(1, 1, MEAN, 2)]
        },
        {"TE_city_click": pl.Float32()},
        pl.DataFrame(
            {"city": ["z", "b", None], "click": [None] * 3, "row": [0] * 3},
            schema_overrides={"click": pl.Int64},
        ),
        {"TE_city_click": [MEAN, te(0, 2, MEAN, 2), te(1, 1, MEAN, 2)]},
    ),
    Example(
        "target-encoding-leave-one-out",
        ops.TargetEncoding("click", p_smooth=1, leave_one_out=True, out_dtype="float64"),
        ["city"],
        CLICKS,
        {
            "TE_city_click": [
                te(1, 2, 3 / 6, 1),
                te(2, 2, 4 / 6, 1),
                te(1, 2, 3 / 6, 1),
                te(0, 1, 4 / 6, 1),
                te(0, 1, 4 / 6, 1),
                3 / 6,  # no other known click of null
                te(1, 1, MEAN, 1),  # its own click is null
                3 / 6,
            ]
        },
        {"TE_city_click": pl.Float64()},
    ),
    Example(
        "target-encoding-out-of-fold",
        ops.TargetEncoding("click", kfold=2, fold_by="row", p_smooth=3, out_dtype="float64"),
        ["city"],
        CLICKS,
        {"TE_city_click": out_of_fold(2, 3)},
        {"TE_city_click": pl.Float64()},
    ),
    Example(
        "target-encoding-of-groups-and-two-targets",
        ops.TargetEncoding(["y", "z"], kfold=1, p_smooth=0, out_dtype="float64"),
        [["a", "b"], "a"],
        pl.DataFrame(
            {
                "a": ["p", "p", "p", "q"],
                "b": [1, 1, None, 1],
                "y": [1.0, 3.0, 8.0, NAN],
                "z": [True, False, True, True],
            }
        ),
        {
            "TE_a_b_y": [2.0, 2.0, 8.0, 4.0],  # nothing known of (q, 1): the mean of 1, 3 and 8
            "TE_a_b_z": [0.5, 0.5, 1.0, 1.0],
            "TE_a_y": [4.0, 4.0, 4.0, 4.0],
            "TE_a_z": [2 / 3, 2 / 3, 2 / 3, 1.0],
        },
        {f"TE_{key}_{y}": pl.Float64() for key in ("a_b", "a") for y in "yz"},
    ),
    Example(
        "join-groupby",
        ops.JoinGroupby("x", ["count", "sum", "mean", "std", "var", "min", "max"]),
        ["k"],
        pl.DataFrame(
            {
                "k": ["a", "b", "a", None, "a", "b", None],
                "x": [1.0, None, 2.0, 5.0, 6.0, NAN, 5.0],
            }
        ),
        {
            "k_count": [3, 2, 3, 2, 3, 2, 2],
            "k_x_sum": [9.0, 0.0, 9.0, 10.0, 9.0, 0.0, 10.0],
            "k_x_mean": [3.0, None, 3.0, 5.0, 3.0, None, 5.0],
            "k_x_std": [7.0**0.5, None, 7.0**0.5, 0.0, 7.0**0.5, None, 0.0],
            "k_x_var": [7.0, None, 7.0, 0.0, 7.0, None, 0.0],
            "k_x_min": [1.0, None, 1.0, 5.0, 1.0, None, 5.0],
            "k_x_max": [6.0, None, 6.0, 5.0, 6.0, None, 5.0],
        },
        {
            "k_count": pl.Int64(),
            **{f"k_x_{stat}": pl.Float64() for stat in ("sum", "mean", "std", "var", "min", "max")},
        },
        pl.DataFrame({"k": ["zz", "a"], "x": [0.0, 0.0]}),
        {
            "k_count": [None, 3],
            "k_x_sum": [None, 9.0],
            "k_x_mean": [None, 3.0],
            "k_x_std": [None, 7.0**0.5],
            "k_x_var": [None, 7.0],
            "k_x_min": [None, 1.0],
            "k_x_max": [None, 6.0],
        },
        nulls_count=True,
    ),
    Example(
        "join-groupby-of-groups-with-fill",
        ops.JoinGroupby(stats="count", fill=0),
        [["a", "b"]],
        pl.DataFrame({"a": [1, 1, 2, None], "b": ["p", "p", "p", "p"]}),
        {"a_b_count": [2, 2, 1, 1]},
        {"a_b_count": pl.Int64()},
        pl.DataFrame({"a": [2, 9, None], "b": ["p", "p", None]}),
        {"a_b_count": [1, 0, 0]},
    ),
    Example(
        "join-groupby-large-numbers",  # the spread of values around 1.7e9 is not lost
        ops.JoinGroupby(["t"], ["std"]),
        ["k"],
        pl.DataFrame({"k": [1] * 4, "t": [1_700_000_000, 1_700_000_001] * 2}),
        {"k_t_std": [(1 / 3) ** 0.5] * 4},
        {"k_t_std": pl.Float64()},
    ),
    Example(
        "join-external",
        ops.JoinExternal(ITEMS, on="item", columns=["brand", "tags"]),
        ["item", "x"],
        pl.DataFrame({"item": ["b", "zz", None, "a", "b"], "x": [1, 2, 3, 4, 5]}),
        {
            "item": ["b", "zz", None, "a", "b"],
            "x": [1, 2, 3, 4, 5],
            "brand": ["Y", None, "N", "X", "Y"],
            "tags": [[], None, None, ["t"], []],
        },
        {"item": pl.String(), "x": pl.Int64(), "brand": pl.String(), "tags": pl.List(pl.String)},
    ),
    Example(
        "join-external-inner-by-two-columns",
        ops.JoinExternal(ITEMS, on=["item", "shop"], how="inner", columns="brand"),
        ["item", "shop"],
        pl.DataFrame(
            {"item": ["d", "d", "a", None], "shop": [2, 1, 1, 1]},
            schema_overrides={"shop": pl.Int8},
        ),
        {"item": ["d", "a", None], "shop": [2, 1, 1], "brand": [None, "X", "N"]},
        {"item": pl.String(), "shop": pl.Int8(), "brand": pl.String()},
    ),
    Example(
        "join-external-first-of-duplicates",
        ops.JoinExternal(ITEMS, on="shop", columns="brand", drop_duplicates=True),
        ["shop"],
        pl.DataFrame({"shop": [2, 1, 7]}),
        {"shop": [2, 1, 7], "brand": [None, "X", None]},
        {"shop": pl.Int64(), "brand": pl.String()},
    ),
)

BAD_PARAMETERS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("TargetEncoding", {"target": []}, "a string or a list of strings expected"),
    ("TargetEncoding", {"target": "y"}, "fold_by is missing; name columns that tell rows apart"),
    ("TargetEncoding", {"target": "y", "fold_by": ["id", "y"]}, "fold_by names the target 'y'"),
    ("TargetEncoding", {"target": "y", "kfold": 0}, "at least 1 expected"),
    ("TargetEncoding", {"target": "y", "kfold": 1, "p_smooth": -1}, "a number from 0 expected"),
    ("TargetEncoding", {"target": "y", "leave_one_out": 1}, "true or false expected"),
    ("TargetEncoding", {"target": "y", "kfold": 1, "out_dtype": "int"}, "one of 'float32', 'fl"),
    ("TargetEncoding", {"target": "y", "kfold": 1, "fold_seed": -1}, "at least 0 expected"),
    ("JoinGroupby", {"stats": "avg"}, "one of 'count', 'sum'"),
    ("JoinGroupby", {"stats": ["mean"]}, "mean needs cont_cols"),
    ("JoinGroupby", {"cont_cols": "x"}, "count alone is of rows"),
    ("JoinGroupby", {"cont_cols": "x", "stats": ["sum", "sum"]}, "names 'sum' twice"),
    ("JoinGroupby", {"fill": float("nan")}, "a finite number expected"),
    ("JoinExternal", {"table": 5, "on": "a"}, "a path or a frame"),
    ("JoinExternal", {"table": ITEMS, "on": []}, "a string or a list of strings expected"),
    ("JoinExternal", {"table": ITEMS, "on": "item", "how": "outer"}, "one of 'left', 'inner'"),
    ("JoinExternal", {"table": ITEMS, "on": "item", "drop_duplicates": 1}, "true or false"),
)
