"""TargetEncoding against scikit-learn, leaks, and what evaluation and serving need."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from sklearn.preprocessing import TargetEncoder

from merlinkit import Dataset, Workflow, ops
from merlinkit.errors import SchemaError


def clicks(rows: int, users: int, seed: int = 0) -> pl.DataFrame:
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "user": [f"u{rng.randrange(users)}" for _ in range(rows)],
            "row": list(range(rows)),
            # Independent of the user: there is nothing to learn.
            "click": [rng.randrange(2) for _ in range(rows)],
        }
    )


def test_values_are_those_of_scikit_learn():
    frame = clicks(500, 20)
    node = ["user"] >> ops.TargetEncoding("click", kfold=1, p_smooth=7.0, out_dtype="float64")
    found = Workflow(node).fit(frame).transform(frame).collect()["TE_user_click"].to_numpy()
    peer = TargetEncoder(smooth=7.0, target_type="continuous").fit(
        frame.select("user").to_numpy(), frame["click"].to_numpy()
    )
    expected = peer.transform(frame.select("user").to_numpy())[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [{"fold_by": "row", "kfold": 5}, {"leave_one_out": True}],
    ids=["folds", "leave one out"],
)
def test_training_rows_do_not_see_their_own_target(parameters):
    # Two rows a user: seeing one's own, the encoding tells the target.
    frame = clicks(4_000, 2_000)
    node = ["user"] >> ops.TargetEncoding("click", p_smooth=1, **parameters)
    workflow = Workflow(node + ["click"]).fit(frame)

    def correlation(training: bool) -> float:
        encoded = workflow.transform(frame, training=training).collect()
        return encoded.select(pl.corr("TE_user_click", "click")).item()

    assert correlation(training=False) > 0.5
    # Others' rows say a little against one's own, as the total is what it is.
    assert -0.25 < correlation(training=True) < 0.05


def test_fit_transform_is_for_training_and_transform_is_not():
    frame = clicks(300, 30)
    workflow = Workflow(["user"] >> ops.TargetEncoding("click", fold_by="row"))
    trained = workflow.fit_transform(frame).collect()
    assert trained.equals(workflow.transform(frame, training=True).collect())
    assert not trained.equals(workflow.transform(frame).collect())


def test_serving_and_validation_need_no_target(tmp_path):
    # Pain: target encoding needed the target at serving, and leaked.
    frame = clicks(300, 30)
    node = (["user"] >> ops.TargetEncoding("click", fold_by="row")) + ["click"]
    Workflow(node).fit(frame).remove_inputs(["click", "row"]).save(tmp_path / "serving")
    serving = Workflow.load(tmp_path / "serving")
    assert serving.input_schema.names == ["user"]
    request = pl.DataFrame({"user": ["u1", "nobody", None]})
    full = Workflow(node).fit(frame)
    expected = full.transform(
        request.with_columns(row=pl.lit(0), click=pl.lit(None, dtype=pl.Int64))
    ).collect()
    assert serving.transform(request).collect().equals(expected.select("TE_user_click"))
    assert expected["TE_user_click"][1] == pytest.approx(frame["click"].mean())


def test_validation_does_not_depend_on_files(tmp_path):
    frame = clicks(400, 40)
    for index in range(5):
        frame[index::5].write_parquet(tmp_path / f"{index}.parquet")
    node = ["user"] >> ops.TargetEncoding("click", fold_by="row")
    one = Workflow(node).fit(frame)
    many = Workflow(node).fit(Dataset(tmp_path))
    for training in (False, True):
        left = one.transform(frame, training=training).collect()["TE_user_click"]
        right = many.transform(frame, training=training).collect()["TE_user_click"]
        np.testing.assert_allclose(left, right, rtol=1e-6)


@pytest.mark.parametrize(
    ("columns", "operator", "message"),
    [
        (["user"], ops.TargetEncoding("user", kfold=1), "target 'user' is String, a number"),
        (["tags"], ops.TargetEncoding("click", kfold=1), "'tags' is List"),
        (
            ["user"],
            ops.TargetEncoding("clck", kfold=1),
            "'clck', which it needs.*Did you mean 'click'",
        ),
        (["user"], ops.TargetEncoding("click", fold_by="tags"), "fold_by names 'tags'"),
        (["user"], ops.JoinGroupby("user", "sum"), "column 'user' is String, a number"),
        (["tags"], ops.JoinGroupby(), "'tags' is List"),
        (["user"], ops.HashedCross(5), "'user' stands alone"),
        ([["user", "tags"]], ops.HashedCross(5), "'tags' holds lists"),
        ([["user", "row"]], ops.HashedCross({"user_row": 5}), "num_buckets names column"),
        (["user", "row"], ops.HashBucket({"user": 5}), "has no number for column 'row'"),
    ],
)
def test_columns_that_do_not_fit(columns, operator, message):
    frame = clicks(3, 2).with_columns(tags=pl.lit(["x"]))
    with pytest.raises(SchemaError, match=message):
        Workflow(columns >> operator).fit(frame)
