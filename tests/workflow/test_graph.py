"""The graph language: what it means, and what it refuses."""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

from merlinkit import Column, Dataset, Schema, Tags, Workflow, by_tags, ops
from merlinkit.errors import MerlinkitError, ParameterError, SchemaError
from merlinkit.workflow.cudf_plans import BUCKET_REASON, cudf_plans
from merlinkit.workflow.graph import as_node

LOGS = pl.DataFrame(
    {
        "user": ["b", "a", None, "b"],
        "item": [1, 2, 3, 1],
        "price": [4.0, -1.0, 6.0, None],
        "when": [datetime(2026, 1, d) for d in (1, 2, 3, 4)],
    }
)


def columns_of(node) -> list[str]:
    return Workflow(node).fit_transform(LOGS).collect().columns


def test_order_of_outputs_is_the_order_of_the_graph():
    cats = ["item", "user"] >> ops.Categorify()
    assert columns_of(cats + ["price"]) == ["item", "user", "price"]
    assert columns_of(["price"] + cats) == ["price", "item", "user"]
    assert columns_of((cats + ["price"])[["price", "user"]]) == ["price", "user"]
    assert columns_of((cats + ["price"]) - ["item"]) == ["user", "price"]
    assert columns_of([cats, "price"] >> ops.Rename(postfix="_x")) == [
        "item_x",
        "user_x",
        "price_x",
    ]


def test_one_column_in_two_branches():
    node = (
        (["when"] >> ops.DateTime("day"))
        + (["when"] >> ops.DateTime("month"))
        + (["price"] >> ops.FillMissing(0))
        + (["price"] >> ops.FillMissing(9) >> ops.Rename("price_nine"))
        + (["price"] >> ops.Rename("raw"))
    )
    assert Workflow(node).fit_transform(LOGS).collect().to_dict(as_series=False) == {
        "when_day": [1, 2, 3, 4],
        "when_month": [1, 1, 1, 1],
        "price": [4.0, -1.0, 6.0, 0.0],
        "price_nine": [4.0, -1.0, 6.0, 9.0],
        "raw": [4.0, -1.0, 6.0, None],
    }


def test_one_operator_object_used_twice_learns_each_apart():
    encode = ops.Categorify()
    workflow = Workflow((["user"] >> encode) + (["item"] >> encode))
    result = workflow.fit_transform(LOGS).collect()
    assert result["user"].to_list() == [3, 4, 1, 3]
    assert result["item"].to_list() == [3, 4, 5, 3]


def test_fitting_again_forgets_what_was_learned():
    workflow = Workflow(["user"] >> ops.Categorify()).fit(LOGS)
    workflow.fit(pl.DataFrame({"user": ["z"]}))
    assert workflow.transform(LOGS).collect()["user"].to_list() == [2, 2, 1, 2]
    assert workflow.output_schema["user"].cardinality == 4


def test_chain_learns_from_what_comes_before():
    # log1p(e - 1) = 1 and log1p(e^3 - 1) = 3: mean 2, standard deviation sqrt(2).
    import math

    frame = pl.DataFrame({"x": [math.e - 1, math.e**3 - 1]})
    result = Workflow(["x"] >> ops.LogOp() >> ops.Normalize()).fit_transform(frame).collect()
    assert result["x"].to_list() == pytest.approx([-1 / math.sqrt(2), 1 / math.sqrt(2)], abs=1e-6)


def test_rows_are_removed_for_every_branch_in_fit_too():
    node = (["user"] >> ops.Categorify()) + (["price"] >> ops.Filter("price > 0"))
    workflow = Workflow(node)
    result = workflow.fit_transform(LOGS).collect()
    assert result["price"].to_list() == [4.0, 6.0]
    # "a" was only in a removed row, so it is unknown.
    assert result["user"].to_list() == [3, 1]
    assert workflow.output_schema["user"].cardinality == 4


def test_what_a_filter_is_made_from_still_sees_all_rows():
    node = ["price"] >> ops.FillMissing(0) >> ops.Normalize() >> ops.Filter("price > 0")
    # Of 4, -1, 6, 0: mean 2.25, so two values are above.
    assert Workflow(node).fit_transform(LOGS).collect().height == 2


def test_same_output_twice_is_refused_and_both_are_named():
    node = (["user"] >> ops.Categorify()) + (["user"] >> ops.Categorify(freq_threshold=2))
    with pytest.raises(SchemaError, match=r"two outputs are named 'user': .*Categorify\(\).*and"):
        Workflow(node).fit(LOGS)


def test_missing_column_suggests_the_nearest():
    with pytest.raises(SchemaError, match="no column 'usr'. Did you mean 'user'"):
        Workflow(["usr"] >> ops.Categorify()).fit(LOGS)


def test_selection_by_tag():
    schema = Schema(
        Column(name, dtype, tags=[Tags.USER] if name in ("user", "item") else [])
        for name, dtype in LOGS.schema.items()
    )
    workflow = Workflow(by_tags("user") >> ops.Categorify())
    assert workflow.fit(Dataset(LOGS, schema=schema)).output_schema.names == ["user", "item"]
    with pytest.raises(SchemaError, match="no column has the tag 'userr'. Did you mean 'user'"):
        Workflow(by_tags("userr") >> ops.Categorify()).fit(Dataset(LOGS, schema=schema))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ["a", "a"] >> ops.Categorify(), "column 'a' is selected twice"),
        (lambda: ["a"] >> ops.Categorify() >> ops.Clip, "write Clip\\(\\), with parentheses"),
        (lambda: (["a"] >> ops.Categorify()) >> "x", "an operator such as Categorify"),
        (lambda: [] >> ops.Categorify(), "an empty list selects no columns"),
        (lambda: [1] >> ops.Categorify(), "1 in a selection"),
        (lambda: [["a", "b"], "c"] >> ops.Clip(0), "takes no group such as \\['a', 'b'\\]"),
        (lambda: [["a", "b"], ["a", "b"]] >> ops.Categorify(), "group .* is selected twice"),
        (lambda: [["a", 1], "c"] >> ops.Categorify(), "1 is not a column name"),
        (lambda: [[], "c"] >> ops.Categorify(), "a list of names \\(a group\\) expected"),
        (lambda: as_node([["a", "b"]])["a"], "cannot be applied to groups"),
        (lambda: 7 >> ops.Categorify(), "7 selects no columns"),
        (lambda: by_tags(), "needs at least one tag"),
    ],
)
def test_what_is_no_graph_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_transform_before_fit_is_refused():
    with pytest.raises(MerlinkitError, match="not fitted; call fit first"):
        Workflow(["user"] >> ops.Categorify()).transform(LOGS)


def test_request_and_fit_may_differ_where_it_is_harmless():
    workflow = Workflow((["item"] >> ops.Categorify()) + ["price"]).fit(LOGS)
    narrow = pl.DataFrame(
        {"extra": ["?"], "price": [1.0], "item": [2]},
        schema={"extra": pl.String, "price": pl.Float32, "item": pl.Int8},
    )
    result = workflow.transform(narrow).collect()
    assert result.to_dict(as_series=False) == {"item": [4], "price": [1.0]}
    assert result.schema == workflow.output_schema.to_polars()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"price": [1.0]}, "column 'item' is missing"),
        ({"price": [1.0], "itm": [1]}, "column 'item' is missing.*Did you mean 'itm'"),
        (
            {"price": [1.0], "item": ["1"]},
            "column 'item' is String, but the workflow was fitted with Int64",
        ),
        ({"price": [1.0], "item": [1.5]}, "column 'item' is Float64"),
        ({"price": [1.0], "item": [[1]]}, r"column 'item' is List\(Int64\)"),
    ],
)
def test_request_that_does_not_fit_gets_one_clear_message(frame, message):
    workflow = Workflow((["item"] >> ops.Categorify()) + ["price"]).fit(LOGS)
    with pytest.raises(SchemaError, match=message):
        workflow.transform(pl.DataFrame(frame))


def test_all_null_request_column_has_no_type():
    workflow = Workflow(["item"] >> ops.Categorify()).fit(LOGS)
    assert workflow.transform(pl.DataFrame({"item": [None]})).collect()["item"].to_list() == [1]


def test_remove_inputs_is_the_workflow_for_serving():
    label = ["price"] >> ops.Expression("price > 0", name="y") >> ops.Filter("y IS NOT NULL")
    workflow = Workflow((["user"] >> ops.Categorify()) + label).fit(LOGS)
    serving = workflow.remove_inputs("price")
    assert serving.input_schema.names == ["user"]
    assert serving.output_schema.names == ["user"]
    # All rows are answered: the filter needed the target.
    result = serving.transform(LOGS.select("user")).collect()
    # "b" is left once at fit, since the filter dropped the row without a price: a tie with "a".
    assert result["user"].to_list() == [4, 3, 1, 4]
    assert workflow.output_schema.names == ["user", "y"]
    with pytest.raises(SchemaError, match="nothing comes out"):
        workflow.remove_inputs(["user", "price"])
    with pytest.raises(SchemaError, match="does not read column 'prce'. Did you mean 'price'"):
        workflow.remove_inputs("prce")


def test_integers_wider_than_at_fit_are_unknown_values():
    narrow = LOGS.with_columns(pl.col("item").cast(pl.Int8))
    workflow = Workflow(["item"] >> ops.Categorify()).fit(narrow)
    wide = pl.DataFrame({"item": [2**40, 2]})
    assert workflow.transform(wide).collect()["item"].to_list() == [2, 4]


def test_remove_inputs_does_not_ask_for_what_nothing_comes_of():
    frame = LOGS.with_columns(quantity=pl.lit(2))
    total = ["price", "quantity"] >> ops.Expression("price * quantity", name="total")
    workflow = Workflow((["user"] >> ops.Categorify()) + total).fit(frame)
    assert workflow.remove_inputs("price").input_schema.names == ["user"]


def test_branches_that_are_left_out_are_not_run():
    node = (["item"] >> ops.Categorify()) + (["price"] >> ops.LogOp())
    # LogOp would refuse the price of -1.
    assert Workflow(node - ["price"]).fit(LOGS).output_schema.names == ["item"]


def test_order_of_filters_does_not_matter():
    frame = pl.DataFrame({"a": [1, 1, 0], "b": [0.0, 2.0, 500.0]})
    first = ["a"] >> ops.Filter("a > 0")
    second = ["b"] >> ops.Normalize() >> ops.Filter("b < 100")
    # Of 0 and 2: mean 1, standard deviation sqrt(2).
    for node in (first + second, second + first):
        result = Workflow(node).fit_transform(frame).collect()
        assert result["b"].to_list() == pytest.approx([-(0.5**0.5), 0.5**0.5])


def test_two_fits_in_one_work_dir_do_not_meet(tmp_path):
    one = Workflow(["user"] >> ops.Categorify()).fit(LOGS, work_dir=tmp_path)
    two = Workflow(["user"] >> ops.Categorify())
    two.fit(pl.DataFrame({"user": ["z", "a"]}), work_dir=tmp_path)
    assert one.transform(LOGS).collect()["user"].to_list() == [3, 4, 1, 3]
    assert two.transform(LOGS).collect()["user"].to_list() == [2, 3, 1, 2]


def test_names_that_merlinkit_uses_itself_are_refused():
    with pytest.raises(SchemaError, match="column '__mk_key'"):
        Workflow(["user", "__mk_key"] >> ops.Categorify()).fit(LOGS.with_columns(__mk_key=1))
    with pytest.raises(SchemaError, match="column '__mk_x'"):
        Workflow(["user"] >> ops.Rename("__mk_x")).fit(LOGS)


@pytest.mark.parametrize("name", ["*", "^a.*$"])
def test_names_that_polars_takes_for_patterns_are_refused(name):
    frame = pl.DataFrame({name: [5], "ab": [7]})
    with pytest.raises(SchemaError, match="stand for patterns"):
        Workflow([name] >> ops.Clip(0, 1)).fit(frame)


def test_folders_with_the_characters_of_globs(tmp_path):
    for folder, users in (("st*r", ["x", "y"]), ("star", ["A", "B"]), ("g[1]", ["p"])):
        frame = pl.DataFrame({"user": users})
        workflow = Workflow(["user"] >> ops.Categorify())
        workflow.fit(frame, work_dir=tmp_path / folder / "work").save(tmp_path / folder / "saved")
        loaded = Workflow.load(tmp_path / folder / "saved")
        loaded.transform(frame).to_parquet(tmp_path / folder / "out")
        encoded = pl.read_parquet(tmp_path / folder / "out" / "part-00000.parquet", glob=False)
        assert encoded["user"].to_list() == list(range(3, 3 + len(users)))


def test_folders_of_others_are_not_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    workflow = Workflow(["user"] >> ops.Categorify()).fit(LOGS)
    with pytest.raises(MerlinkitError, match="not of a workflow"):
        workflow.save(tmp_path / "mine")
    with pytest.raises(MerlinkitError, match="not processed data"):
        workflow.transform(LOGS).to_parquet(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "x"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    workflow.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert Workflow.load(tmp_path / "real").output_schema.names == ["user"]


def test_clip_bounds_that_no_value_can_take():
    frame = pl.DataFrame({"x": [1, 2]}, schema={"x": pl.UInt8})
    for bad in (ops.Clip(min_value=300), ops.Clip(max_value=-1)):
        with pytest.raises(SchemaError, match="column 'x' is UInt8, from 0 to 255"):
            Workflow(["x"] >> bad).fit(frame)
    assert Workflow(["x"] >> ops.Clip(-(2**70), 2**70)).fit_transform(frame).collect().height == 2


def test_flags_of_a_target_are_no_targets():
    node = ["item"] >> ops.AddTags("target") >> ops.FillMissing(0, add_binary_cols=True)
    schema = Workflow(node).fit(LOGS).output_schema
    assert schema.by_tag("target").names == ["item"]


def test_pandas_and_arrow_frames():
    workflow = Workflow(["user", "item"] >> ops.Categorify())
    expected = workflow.fit_transform(LOGS).collect()
    for frame in (LOGS.to_pandas(), LOGS.to_arrow(), LOGS.lazy()):
        assert workflow.fit_transform(frame).collect().equals(expected)


def test_fits_behind_operators_on_groups_of_rows_are_excused_bucket_by_bucket():
    frame = pl.DataFrame({"user": [1, 1], "ts": [1, 2]})
    node = ["ts"] >> ops.DifferenceLag("user", "ts") >> ops.Normalize()
    workflow = Workflow(node).fit(frame)
    plans = cudf_plans(workflow.output, workflow.input_schema, workflow.states)
    for item in plans:
        if "brought together" in item.detail or item.step == "inverse":
            # All rows go through these, so they must stream.
            assert item.one_partition_reason is None
        elif item.detail.startswith(("statistics", "rows")):
            assert item.one_partition_reason == BUCKET_REASON
