"""The verbs on good input."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from omegaconf import OmegaConf

from merlinkit.cli.conf_dir import conf_dir
from merlinkit.cli.main import main
from merlinkit.data.manifest import Manifest

SMALL = [
    "dataset=synthetic",
    "dataset.rows=3000",
    "trainer.epochs=2",
    "trainer.batch_size=256",
    "trainer.tensorboard=false",
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def metrics_of(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_run_leaves_everything_a_report_needs(here, capsys):
    assert main(["run", *SMALL, "run_dir=out"]) == 0
    out = here / "out"
    printed = capsys.readouterr().out
    assert f"report: {out / 'report.html'}" in printed
    assert {"valid", "test"} == set(metrics_of(out))
    assert metrics_of(out)["valid"]["rows"] == Manifest.load(out / "data" / "valid").rows
    page = (out / "report.html").read_text()
    for section in ("Data profile", "Stages", "Training", "Calibration", "Configuration"):
        assert section in page
    record = json.loads((out / "run.json").read_text())
    assert record["status"] == "complete"
    assert record["command"].startswith("merlinkit run dataset=synthetic")
    rows = sum(Manifest.load(out / "data" / part).rows for part in ("train", "valid", "test"))
    assert rows == 3000
    # Nothing is written outside of the run directory, and work files are gone.
    assert [path.name for path in here.iterdir()] == ["out"]
    assert not (out / "work").exists()


def test_same_call_again_does_nothing_again(here, capsys):
    main(["run", *SMALL, "run_dir=out"])
    first = metrics_of(here / "out")
    files = {path: path.stat().st_mtime_ns for path in (here / "out" / "data").rglob("*.parquet")}
    capsys.readouterr()
    assert main(["run", *SMALL, "run_dir=out"]) == 0
    text = capsys.readouterr().err
    assert "processed data of the same configuration is there already" in text
    assert "is trained already" in text
    assert metrics_of(here / "out") == first
    assert files == {path: path.stat().st_mtime_ns for path in files}


def test_same_seed_same_numbers_and_another_seed_others(here):
    main(["run", *SMALL, "run_dir=a"])
    main(["run", *SMALL, "run_dir=b"])
    main(["run", *SMALL, "run_dir=c", "seed=7"])
    assert metrics_of(here / "a") == metrics_of(here / "b")
    assert metrics_of(here / "a") != metrics_of(here / "c")


def test_one_stage_after_the_other_is_the_same_as_run(here):
    main(["run", *SMALL, "run_dir=all"])
    assert main(["etl", *SMALL[:2], "run_dir=steps"]) == 0
    assert not (here / "steps" / "metrics.json").exists()
    assert (here / "steps" / "report.html").exists()
    assert main(["train", "run_dir=steps", *SMALL[2:]]) == 0
    assert metrics_of(here / "steps") == metrics_of(here / "all")
    (here / "steps" / "metrics.json").unlink()
    assert main(["evaluate", "run_dir=steps"]) == 0
    assert metrics_of(here / "steps") == metrics_of(here / "all")


def test_train_refuses_to_change_the_data(here, capsys):
    main(["etl", *SMALL[:2], "run_dir=out"])
    assert main(["train", "run_dir=out", "split=random"]) == 2
    assert "split cannot be changed here" in " ".join(capsys.readouterr().err.split())


def test_altered_data_is_made_again(here, capsys):
    main(["run", *SMALL, "run_dir=out"])
    part = next((here / "out" / "data" / "valid").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    capsys.readouterr()
    assert main(["run", *SMALL, "run_dir=out"]) == 0
    assert "transform all parts" in capsys.readouterr().err
    Manifest.load(here / "out" / "data" / "valid").verify(here / "out" / "data" / "valid")


def test_plan_executes_nothing(here, capsys):
    assert main(["plan", "dataset=synthetic", "dataset.rows=1000000000"]) == 0
    printed = capsys.readouterr().out
    for text in ("graph", "passes over the data", "output columns", "memory", "yes, streams"):
        assert text in printed
    assert list(here.iterdir()) == []


def test_generate(here, capsys):
    assert main(["generate", "dataset.rows=500", "generate.folder=logs"]) == 0
    assert pl.read_parquet(here / "logs" / "*.parquet").height == 500
    assert "logs: 1 files" in capsys.readouterr().out
    assert [path.name for path in here.iterdir()] == ["logs"]


def test_doctor(here, capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for text in ("python", "memory", "GPU", "polars", "torch", "what will run where"):
        assert text in printed


def test_help_version_and_configuration(here, capsys):
    assert main([]) == 2
    assert main(["--help"]) == 0
    assert main(["--version"]) == 0
    assert main(["run", "--help"]) == 0
    assert "movielens_100k" in capsys.readouterr().out
    assert main(["run", "--cfg", "job", "dataset=synthetic"]) == 0
    assert "embedding_dim: 16" in capsys.readouterr().out
    assert list(here.iterdir()) == []


def composed(capsys, *arguments: str):
    capsys.readouterr()
    assert main(["run", "--cfg", "job", *arguments]) == 0
    return OmegaConf.create(capsys.readouterr().out)


def test_own_files_win_over_shipped_ones(here, capsys):
    shipped = (conf_dir() / "model" / "dlrm.yaml").read_text()
    for folder, width in (("conf", 12), ("other", 24)):
        (here / folder / "model").mkdir(parents=True)
        (here / folder / "experiment").mkdir()
        changed = shipped.replace("embedding_dim: 16", f"embedding_dim: {width}")
        (here / folder / "model" / "dlrm.yaml").write_text(changed)
        seed = f"# @package _global_\nseed: {width}\n"
        (here / folder / "experiment" / "mine.yaml").write_text(seed)
    # A config.yaml of another program is none of ours.
    (here / "conf" / "config.yaml").write_text("something: else\n")
    assert composed(capsys).model.embedding_dim == 12
    assert composed(capsys, "experiment=mine").seed == 12
    for given in (["--config-dir", "other"], ["--config-dir=other"], ["-cd", "other"]):
        assert composed(capsys, *given).model.embedding_dim == 24
    (here / "conf").rename(here / "away")
    assert composed(capsys).model.embedding_dim == 16


@pytest.mark.parametrize(
    "arguments",
    [["plan", "dataset=synthetic"], ["run", "--cfg", "job"], ["run", "--help"]],
    ids=" ".join,
)
def test_reader_that_has_seen_enough(arguments, here):
    command = [sys.executable, "-m", "merlinkit", *arguments]
    read, write = os.pipe()
    # With no reader, the first write fails, as it does for `head` when it has its lines.
    os.close(read)
    try:
        result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(write)
    assert (result.returncode, result.stderr) == (141, "")


def test_sweep_gives_each_job_a_folder(here):
    arguments = ["run", "-m", *SMALL, "trainer.epochs=1", "model.embedding_dim=4,8"]
    assert main([*arguments, "run_dir=sweep"]) == 0
    assert metrics_of(here / "sweep" / "0") != metrics_of(here / "sweep" / "1")


def test_csv_with_own_features_through_the_python_module(here):
    logs = pl.DataFrame(
        {
            "who": [f"u{i % 9}" for i in range(400)],
            "what": [f"i{i % 4}|i{i % 3}" for i in range(400)],
            "click": [int(i % 9 > 4) for i in range(400)],
        }
    )
    logs.write_csv("logs.csv")
    (here / "conf" / "features").mkdir(parents=True)
    (here / "conf" / "features" / "mine.yaml").write_text(
        """# @package _global_
features:
  - {columns: [who], ops: [{op: Categorify, freq_threshold: 2}]}
  - {columns: [what], ops: [{op: Split, separator: "|"}, Categorify]}
  - {columns: [click], ops: [{op: AddTags, tags: [target, binary_classification]}]}
"""
    )
    command = [sys.executable, "-W", "error", "-m", "merlinkit", "run", "dataset=files"]
    overrides = ["dataset.path=logs.csv", "features=mine", "split=random", "run_dir=out"]
    trainer = ["trainer.epochs=30", "trainer.batch_size=64", "trainer.learning_rate=0.01"]
    subprocess.run([*command, *overrides, *trainer], check=True)
    # The label follows from the user, so a model that reads the features right finds it.
    assert metrics_of(here / "out")["test"]["auc"] == 1.0
