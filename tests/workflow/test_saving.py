"""The saved form: whole, checked, and unable to run anything."""

from __future__ import annotations

import contextlib
import hashlib
import json

import polars as pl
import pytest

from merlinkit import Workflow, ops
from merlinkit.errors import ArtifactError, MerlinkitError, ParameterError, RunDirError

LOGS = pl.DataFrame({"user": ["a", "b", None], "price": [1.0, 2.0, 3.0], "y": [0, 1, 1]})


@pytest.fixture
def saved(tmp_path):
    node = (
        (["user"] >> ops.Categorify(vocabs=None))
        + (["price"] >> ops.Filter(pl.col("price") > 0) >> ops.Normalize())
        + (["y"] >> ops.Rename(function=str.upper))
    )
    Workflow(node).fit(LOGS).save(tmp_path / "workflow")
    return tmp_path / "workflow"


def change(folder, edit) -> None:
    path = folder / "workflow.json"
    data = json.loads(path.read_text())
    edit(data)
    # As one would who knows how the checksum is made.
    content = {key: value for key, value in data.items() if key != "sha256"}
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    path.write_text(json.dumps({**content, "sha256": digest}))


def test_everything_comes_back(saved):
    workflow = Workflow.load(saved)
    result = workflow.transform(LOGS).collect()
    assert result.to_dict(as_series=False) == {
        "user": [3, 4, 1],
        "price": [-1.0, 0.0, 1.0],
        "Y": [0, 1, 1],
    }
    workflow.save(saved.parent / "again")
    first = json.loads((saved / "workflow.json").read_text())
    assert json.loads((saved.parent / "again" / "workflow.json").read_text()) == first


def test_saving_replaces_what_was_there(saved):
    Workflow(["user"] >> ops.Categorify()).fit(LOGS).save(saved)
    assert Workflow.load(saved).output_schema.names == ["user"]
    assert [path.name for path in saved.parent.iterdir()] == ["workflow"]


def test_loading_may_remove_inputs_and_save_again(saved):
    Workflow.load(saved).remove_inputs("price").save(saved.parent / "serving")
    serving = Workflow.load(saved.parent / "serving")
    assert serving.transform(LOGS.select("user", "y")).collect().columns == ["user", "Y"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: data.update(format=99), "format 99, 1 expected"),
        (lambda data: data.pop("nodes"), "is damaged: KeyError"),
        (lambda data: data["nodes"][1].update(operator="os.system"), "no operator 'os.system'"),
        (lambda data: data["nodes"][1]["parameters"].update(evil=1), "no parameter 'evil'"),
        (
            lambda data: data["nodes"][1].update(parents=[17]),
            "there is no node 17 among the 1 before",
        ),
        (lambda data: data["nodes"][1].update(kind="exec"), "unknown kind of node 'exec'"),
        (lambda data: data.update(output=99), "there is no node 99"),
        (
            lambda data: data["states"]["1"]["tables"]["user"].update(file="../../secret"),
            "names a file outside",
        ),
        (
            lambda data: data["states"]["1"]["tables"]["user"].update(file="gone.parquet"),
            "gone.parquet is missing",
        ),
        (
            lambda data: data["states"]["1"]["tables"]["user"].update(sha256="0" * 64),
            "was altered",
        ),
        (lambda data: data.update(states={}), r"what Categorify\(\) learned is missing"),
        (lambda data: data["states"]["1"].update(tables={}), "is damaged: KeyError"),
    ],
)
def test_crafted_files_are_refused(saved, edit, message):
    change(saved, edit)
    with pytest.raises(ArtifactError, match=message):
        Workflow.load(saved)


def table_of(data):
    return data["states"]["1"]["tables"]["user"]


def replace_table(folder, edit):
    """Write another table, with a checksum that fits."""
    path = next((folder / "tables").glob("*.parquet"))
    edit(pl.read_parquet(path)).write_parquet(path)
    rows, digest = pl.read_parquet(path).height, hashlib.sha256(path.read_bytes()).hexdigest()
    change(folder, lambda data: table_of(data).update(rows=rows, sha256=digest))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda t: t.with_columns(pl.col("id") + 1), "id 1 is there twice|out of range"),
        (lambda t: t.with_columns(pl.col("id").clip(0, 3)), "id 3 is there twice"),
        (lambda t: t.with_columns(pl.col("value").fill_null("a")), "reserved ones, but has a"),
        (lambda t: t.with_columns(pl.lit("a").alias("value")), "reserved ones, but has a value"),
        (lambda t: t.with_columns(pl.col("value").replace("b", "a")), "value 'a' has 2 ids"),
        (lambda t: t.with_columns(pl.lit(None, pl.String).alias("value")), "id 3 has no value"),
        (lambda t: t.with_columns(pl.col("count") - 9), "the count of id 0 is negative"),
        (lambda t: t.with_columns(pl.lit(2**62).alias("count")), "add up to more than 64 bits"),
        (lambda t: t.with_columns(pl.col("id").cast(pl.Float64)), "'id' is Float64"),
        (lambda t: t.head(2), "it has 2 ids, between 3 and"),
        (lambda t: t.head(0), "domain max -1 is below its min 0"),
        (lambda t: t.reverse(), "is there twice, or another one is missing"),
        (lambda t: t.drop("value"), "value"),
        (lambda t: t.with_columns(pl.lit(1).alias("more")), "columns are id, value, count, more"),
    ],
)
def test_a_crafted_vocabulary_is_refused(saved, edit, message):
    replace_table(saved, edit)
    with pytest.raises(ArtifactError, match=message):
        Workflow.load(saved)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda data: data.update(format=True), "format True, 1 expected"),
        (lambda data: data.update(format=1.0), "format 1.0, 1 expected"),
        (lambda data: data.update(output=True), "no node True"),
        (lambda data: data.update(output=-1), "no node -1"),
        (lambda data: data["nodes"][1].update(parents=[False]), "no node False"),
        (lambda data: data["nodes"][1].update(parents=[]), "has 0 parents, one expected"),
        (lambda data: data["nodes"][0].update(columns="user"), "columns is 'user', a list"),
        (lambda data: data["nodes"][0].update(tags=[1]), r"tags is \[1\], a list of strings"),
        (lambda data: data.update(removed="user"), "removed is 'user', a list of strings"),
        (lambda data: data["states"].update({"-1": data["states"]["1"]}), "entry for '-1'"),
        (lambda data: data["states"].update({" 1": data["states"]["1"]}), "entry for ' 1'"),
        (lambda data: data["states"].update({"0": data["states"]["1"]}), "entry for '0'"),
        (lambda data: table_of(data).update(rows=5.0), "has 5 rows, 5.0 expected"),
    ],
)
def test_json_that_only_python_takes_for_right_is_refused(saved, edit, message):
    change(saved, edit)
    with pytest.raises(ArtifactError, match=message):
        Workflow.load(saved)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_are_no_json_are_refused(saved, number):
    path = saved / "workflow.json"
    path.write_text(path.read_text().replace('"mean": 2.0', f'"mean": {number}'))
    with pytest.raises(ArtifactError, match=r"is damaged: .* is no finite number"):
        Workflow.load(saved)


def places(value, at=()):
    """Yield the path to everything in a JSON value."""
    yield at
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*at, key))


@pytest.mark.parametrize(
    "odd", [None, True, -1, 10**30, 1e308, "", "x", [], {}, [[]], {"a": None}], ids=repr
)
def test_whatever_is_put_anywhere_is_one_error_or_harmless(saved, odd):
    original = json.loads((saved / "workflow.json").read_text())
    for place in places(original):
        if not place or place[0] == "sha256":
            continue

        def put(data, place=place):
            for key in place[:-1]:
                data = data[key]
            data[place[-1]] = odd

        change(saved, put)
        with contextlib.suppress(MerlinkitError):
            workflow = Workflow.load(saved)
            workflow.transform(LOGS).collect()
        (saved / "workflow.json").write_text(json.dumps(original))


def test_altered_json_is_refused(saved):
    path = saved / "workflow.json"
    path.write_text(path.read_text().replace('"mean": 2.0', '"mean": 99.0'))
    with pytest.raises(ArtifactError, match="its content is not what its checksum says"):
        Workflow.load(saved)


def test_altered_table_is_refused(saved):
    path = next((saved / "tables").glob("*.parquet"))
    pl.read_parquet(path).with_columns(pl.col("id") + 1).write_parquet(path)
    with pytest.raises(ArtifactError, match="was altered"):
        Workflow.load(saved)


def test_missing_folder_and_damaged_json(saved, tmp_path):
    with pytest.raises(ArtifactError, match="no workflow in"):
        Workflow.load(tmp_path / "nothing")
    (saved / "workflow.json").write_text("{")
    with pytest.raises(ArtifactError, match="is damaged"):
        Workflow.load(saved)


def test_saved_expression_cannot_carry_code(saved):
    # Pain: a saved workflow executed code when loaded. Polars pickles Python functions.
    evil = pl.col("price").map_elements(lambda x: x, return_dtype=pl.Float64) > 0
    crafted = "polars-json:" + evil.meta.serialize(format="json")

    def plant(data):
        node = next(node for node in data["nodes"] if node.get("operator") == "Filter")
        node["parameters"]["predicate"] = crafted

    change(saved, plant)
    with pytest.raises(ArtifactError, match="runs a Python function"):
        Workflow.load(saved)


def test_a_function_used_twice_is_saved_for_each_place(tmp_path):
    upper = ops.Rename(function=str.upper)
    Workflow((["user"] >> upper) + (["price"] >> upper)).fit(LOGS).save(tmp_path / "saved")
    result = Workflow.load(tmp_path / "saved").transform(LOGS).collect()
    assert result.columns == ["USER", "PRICE"]


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("x")
    workflow = Workflow(["user"] >> ops.Categorify()).fit(LOGS)
    for target in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nothing"):
        with pytest.raises(RunDirError):
            workflow.save(target)
    assert (tmp_path / "file").read_text() == "x"


def test_code_in_a_computed_data_type_is_found():
    evil = pl.col("x").map_batches(lambda s: s)
    hidden = pl.col("x").cast(pl.dtype_of(evil))
    text = "polars-json:" + hidden.meta.serialize(format="json")
    with pytest.raises(ArtifactError, match="uses OfExpr"):
        ops.Expression(text, name="y")
    with pytest.raises(ParameterError, match="uses OfExpr"):
        ops.Expression(pl.col("x").cast(pl.dtype_of("x")), name="y")


@pytest.mark.parametrize("place", ["alias", "cast", "ternary", "function"])
def test_code_is_found_wherever_it_hides(place):
    evil = pl.col("x").map_batches(lambda s: s)
    hidden = {
        "alias": evil.alias("y"),
        "cast": evil.cast(pl.Int8),
        "ternary": pl.when(pl.col("x") > 0).then(evil).otherwise(1),
        "function": pl.max_horizontal("x", evil),
    }[place]
    text = "polars-json:" + hidden.meta.serialize(format="json")
    with pytest.raises(ArtifactError, match="runs a Python function"):
        ops.Expression(text, name="y")
