"""The saved form: whole, checked, and unable to run anything."""

from __future__ import annotations

import hashlib
import json

import polars as pl
import pytest

from merlinkit import Workflow, ops
from merlinkit.errors import ArtifactError, ParameterError, RunDirError

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
        (lambda data: data["nodes"][1].update(parents=[17]), "is damaged: IndexError"),
        (lambda data: data["nodes"][1].update(kind="exec"), "unknown kind of node 'exec'"),
        (lambda data: data.update(output=99), "is damaged: IndexError"),
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
