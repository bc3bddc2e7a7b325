"""A run directory that is called again: what is kept, repaired, made anew or refused."""

from __future__ import annotations

import errno
import json

import polars as pl
import pytest
from omegaconf import OmegaConf

from merlinkit.cli.main import main

ETL = ["dataset=synthetic", "dataset.rows=600", "run_dir=out"]
TRAIN = ["run_dir=out", "trainer.epochs=1", "trainer.batch_size=128", "trainer.tensorboard=false"]
RUN = ["run", *ETL, *TRAIN[1:]]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def out(here):
    """A complete run."""
    assert main(RUN) == 0
    return here / "out"


def call(capsys, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(list(arguments))
    return code, " ".join(capsys.readouterr().err.split())


def checkpoints(folder) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted((folder / "checkpoints").rglob("*"))
        if path.is_file()
    }


def damage(folder, which: str, name: str = "model.safetensors") -> None:
    index = json.loads((folder / "checkpoints" / "index.json").read_text())
    path = folder / "checkpoints" / index[which] / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")


# -- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [RUN, ["train", *TRAIN]], ids=["run", "train"])
def test_damaged_model_is_trained_anew(again, out, capsys):
    before = checkpoints(out)
    damage(out, "best")
    code, text = call(capsys, "evaluate", "run_dir=out")
    assert code == 2
    assert "run train again" in text
    code, text = call(capsys, *again)
    assert code == 0, text
    assert "model.safetensors is not as it was written" in text
    assert "training starts anew" in text
    assert checkpoints(out) == before


def test_damaged_index_of_checkpoints_is_repaired(out, capsys):
    (out / "checkpoints" / "index.json").write_text("{")
    code, text = call(capsys, *RUN)
    assert code == 0, text
    assert "index.json is not valid JSON" in text


def test_unfinished_training_with_a_damaged_last_checkpoint_starts_anew(out, capsys):
    before = checkpoints(out)
    record = json.loads((out / "run.json").read_text())
    del record["stages"]["train"], record["stages"]["evaluate"]
    (out / "run.json").write_text(json.dumps(record))
    damage(out, "last", "training.safetensors")
    code, text = call(capsys, *RUN)
    assert code == 0, text
    assert "training.safetensors is not as it was written" in text
    assert checkpoints(out) == before


@pytest.mark.parametrize("content", [None, "{"], ids=["missing", "damaged"])
def test_profile_is_made_again(content, out):
    path = out / "profile.json"
    before = path.read_text()
    path.unlink()
    if content is not None:
        path.write_text(content)
    assert main(RUN) == 0
    assert path.read_text() == before


def test_what_another_version_left_is_made_again(out, capsys, monkeypatch):
    monkeypatch.setattr("merlinkit.pipeline.run_dir.__version__", "0.1.1")
    code, text = call(capsys, *RUN)
    assert code == 0, text
    assert "transform all parts" in text
    assert "trained already" not in text


def test_nothing_is_generated_for_what_is_there_already(out, monkeypatch):
    def never(*arguments, **named):
        raise AssertionError("generated again")

    monkeypatch.setattr("merlinkit.pipeline.source.write", never)
    (out / "work").mkdir()
    (out / "work" / "left.parquet").write_text("by a kill")
    assert main(RUN) == 0
    assert not (out / "work").exists()


# -- another configuration --------------------------------------------------------------------


def test_other_verbs_keep_the_settings_of_the_model(here, capsys):
    small = [*TRAIN, "model.embedding_dim=4"]
    assert main([*RUN, "model.embedding_dim=4"]) == 0
    before = OmegaConf.load("out/config.yaml")
    assert main(["etl", *ETL]) == 0
    code, text = call(capsys, "evaluate", "run_dir=out")
    assert code == 0, text
    assert OmegaConf.load("out/config.yaml") == before
    code, text = call(capsys, "train", *small)
    assert code == 0, text
    assert "trained already" in text


def test_each_verb_saves_its_own_sections(here):
    main(["etl", *ETL])
    saved = OmegaConf.load("out/config.yaml")
    assert {"dataset", "split", "features", "engine", "seed", "run_dir"} == set(saved)
    main(["train", *TRAIN, "model.embedding_dim=4"])
    saved = OmegaConf.load("out/config.yaml")
    assert saved.model.embedding_dim == 4
    assert saved.dataset.rows == 600


def test_train_refuses_to_delete_another_model(out, capsys):
    before = checkpoints(out), (out / "config.yaml").read_text()
    code, text = call(capsys, "train", *TRAIN, "model.embedding_dim=4")
    assert code == 2
    assert "model differ" in text
    assert "overwrite=true to delete its model; the processed data stays" in text
    assert (checkpoints(out), (out / "config.yaml").read_text()) == before


def test_train_with_overwrite_replaces_the_model_alone(out, capsys):
    data = {path: path.stat().st_mtime_ns for path in (out / "data").rglob("*")}
    before = checkpoints(out)
    code, text = call(capsys, "train", *TRAIN, "model.embedding_dim=4", "overwrite=true")
    assert code == 0, text
    assert checkpoints(out) != before
    assert {path: path.stat().st_mtime_ns for path in (out / "data").rglob("*")} == data
    assert OmegaConf.load(out / "config.yaml").model.embedding_dim == 4
    assert main(["evaluate", "run_dir=out"]) == 0


def test_train_refuses_another_seed_than_that_of_the_data(out, capsys):
    code, text = call(capsys, "train", *TRAIN, "seed=7")
    assert code == 2
    assert "seed cannot be changed here" in text


# -- data that a model cannot learn from ------------------------------------------------------

FEATURES = """# @package _global_
features:
  - {columns: [user], ops: [Categorify]}
  - {columns: [price], ops: [Normalize]}
  - {columns: [click], ops: [{op: AddTags, tags: [target, binary_classification]}]}
"""
LOGS = pl.DataFrame(
    {
        "user": [f"u{i % 7}" for i in range(60)],
        "price": [float(i) for i in range(60)],
        "click": [i % 2 for i in range(60)],
    }
)


def etl_of(here, frame: pl.DataFrame) -> list[str]:
    """Process a log with etl, which needs no label, and return the data's overrides."""
    (here / "conf" / "features").mkdir(parents=True)
    (here / "conf" / "features" / "mine.yaml").write_text(FEATURES)
    frame.write_parquet("log.parquet")
    data = ["dataset=files", "dataset.path=log.parquet", "features=mine", "split=random"]
    assert main(["etl", *data, "run_dir=out"]) == 0
    return data


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"click": pl.lit(1)}, "label 'click' has one class only"),
        ({"click": pl.lit(None, pl.Int64)}, "label 'click' is null in all training rows"),
        ({"price": pl.when(pl.col("price") > 9).then("price")}, "column 'price'"),
    ],
    ids=["one class", "no label", "nulls"],
)
def test_train_and_run_check_what_etl_left(changed, message, here, capsys):
    data = etl_of(here, LOGS.with_columns(**changed))
    for arguments in (["train", *TRAIN], ["run", *data, *TRAIN]):
        code, text = call(capsys, *arguments)
        assert code == 2, text
        assert message in text
        assert not (here / "out" / "checkpoints").exists()


def test_train_needs_a_label_and_features(here, capsys):
    (here / "conf" / "features").mkdir(parents=True)
    (here / "conf" / "features" / "mine.yaml").write_text(
        "# @package _global_\nfeatures: [{columns: [user], ops: [Categorify]}]\n"
    )
    LOGS.write_parquet("log.parquet")
    data = ["dataset=files", "dataset.path=log.parquet", "features=mine", "split=random"]
    assert main(["etl", *data, "run_dir=out"]) == 0
    code, text = call(capsys, "train", *TRAIN)
    assert code == 2
    assert "no column is tagged target" in text


# -- a place that cannot be written -----------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_place_that_cannot_be_written_is_one_message(code, here, capsys, monkeypatch):
    def fails(path, data):
        raise OSError(code, "as the system says", str(path))

    monkeypatch.setattr("merlinkit.pipeline.etl.write_json", fails)
    ended, text = call(capsys, *RUN)
    assert ended == 2
    assert f"run_dir {here / 'out'} cannot be written" in text
    assert "run_dir=" in text


def test_full_disk_in_a_plan_is_one_message(here, capsys, monkeypatch):
    def fails(*arguments, **named):
        # As Polars 1.44 words it when a sink meets a full disk.
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")

    monkeypatch.setattr("merlinkit.engine.cpu.CpuEngine.sink", fails)
    ended, text = call(capsys, *RUN)
    assert ended == 2
    assert f"run_dir {here / 'out'} cannot be written: No space left on device" in text


def test_error_about_a_file_elsewhere_is_not_blamed_on_the_run_directory(here, monkeypatch):
    def fails(path, data):
        raise PermissionError(errno.EACCES, "no", "/elsewhere/file")

    monkeypatch.setattr("merlinkit.pipeline.etl.write_json", fails)
    with pytest.raises(PermissionError, match="/elsewhere/file"):
        main(RUN)
