"""Mistakes on the command line: one clear message each, exit code 2, nothing left behind."""

from __future__ import annotations

import gzip
import os

import polars as pl
import pytest

from merlinkit.cli.main import main

FEATURES = """# @package _global_
features:
  - columns: [user, item]
    ops: [Categorify]
  - columns: [click]
    ops: [{op: AddTags, tags: [target, binary_classification]}]
"""

LOGS = pl.DataFrame(
    {
        "user": [f"u{i % 7}" for i in range(60)],
        "item": [i % 5 for i in range(60)],
        "ts": list(range(60)),
        "click": [i % 2 for i in range(60)],
    }
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a configuration of its own and a good log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "features").mkdir(parents=True)
    (tmp_path / "conf" / "features" / "mine.yaml").write_text(FEATURES)
    (tmp_path / "conf" / "experiment").mkdir()
    (tmp_path / "conf" / "experiment" / "big.yaml").write_text("# @package _global_\nseed: 5\n")
    LOGS.write_parquet("good.parquet")
    return tmp_path


def call(capsys, *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    return code, " ".join(capsys.readouterr().err.split())


def run_on(capsys, path: str, *more: str) -> tuple[int, str]:
    return call(
        capsys,
        "run",
        "dataset=files",
        f"dataset.path={path}",
        "dataset.time=ts",
        "features=mine",
        "run_dir=out",
        *more,
    )


def assert_refused(outcome: tuple[int, str], *messages: str) -> None:
    code, text = outcome
    assert code == 2, text
    for message in messages:
        assert message in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["rnu"], ["no verb 'rnu'. Did you mean 'run'?"]),
        (["run", "dataset=movilens_100k"], ["no such choice. Did you mean 'movielens_100k'?"]),
        (
            ["run", "trainer.epoch=3", "model.embeding_dim=3"],
            [
                "2 problems",
                "trainer.epoch is not a setting. Did you mean 'trainer.epochs'",
                "model.embeding_dim is not a setting. Did you mean 'model.embedding_dim'?",
            ],
        ),
        (["run", "experiment=bgi"], ["experiment=bgi: no such choice. Did you mean 'big'?"]),
        (["run", "--config-dir", "nowhere"], ["--config-dir: there is no folder 'nowhere'"]),
        (["run", "datset=synthetic"], ["datset is not a setting. Did you mean 'dataset'"]),
        (
            ["run", "trainer.epochs=0", "model.dropout=7", "split.valid=2", "loader.prefetch=-1"],
            ["4 problems", "trainer.epochs", "dropout", "split: valid 2", "loader.prefetch is -1"],
        ),
        (["run", "dataset=files", "features=mine"], ["dataset.path is missing"]),
        (["run", "dataset=files", "dataset.path=x"], ["features: the list is empty"]),
        (["run", "engine=gpu"], ["engine=gpu: no such choice", "engine can be cpu"]),
        (["run", "trainer.epochs=[1"], ["trainer.epochs=[1:"]),
        (["run", "+trainer.lr=1"], ["trainer.lr is not a setting"]),
        (
            ["run", "dataset=files", "dataset.path=/logs/a b(1).csv"],
            ["need quotes: 'dataset.path='\"'\"'/logs/a b(1).csv'\"'\"''"],
        ),
        (
            ["plan", "dataset=files", "dataset.path=a.csv,b.csv"],
            ["for a list write 'dataset.path=[a.csv,b.csv]'"],
        ),
        (["run", "features=[{columns: [a]}]"], ["write the value into conf/features/NAME.yaml"]),
        (["run", "trainer.device=cuda"], ["trainer.device is 'cuda'", "finds no GPU"]),
        (
            ["run", "trainer.monitor=rmse", "trainer.device=cuda"],
            ["2 problems", "trainer.monitor is 'rmse'", "auc, logloss", "finds no GPU"],
        ),
        (["plan", "trainer.monitor=r2"], ["trainer.monitor is 'r2'"]),
        (["train"], ["say which run to train in"]),
        (["evaluate", "run_dir=nothing"], ["holds no run; call train first"]),
        (["doctor", "now"], ["doctor takes nothing"]),
        (["generate", "dataset=movielens_100k"], ["cannot be generated"]),
        (["generate", "generate.format=xml"], ["parquet, csv, tsv or jsonl expected"]),
    ],
    ids=lambda value: " ".join(value)[:60],
)
def test_wrong_words(arguments, messages, here, capsys):
    before = sorted(path.name for path in here.iterdir())
    assert_refused(call(capsys, *arguments), *messages)
    assert sorted(path.name for path in here.iterdir()) == before


def test_experiment_where_there_is_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert_refused(call(capsys, "run", "experiment=big"), "no experiment is there yet")


def test_missing_file_and_empty_glob(here, capsys):
    assert_refused(run_on(capsys, "goood.parquet"), "goood.parquet", "good.parquet")
    assert_refused(run_on(capsys, "'nothing/*.parquet'"), "nothing/*.parquet")
    assert not (here / "out").exists()


def test_no_rows(here, capsys):
    LOGS.clear().write_parquet("empty.parquet")
    (here / "nothing.csv").write_text("")
    (here / "header.csv").write_text("user,item,ts,click\n")
    assert_refused(run_on(capsys, "empty.parquet"), "empty.parquet", "no rows")
    assert_refused(run_on(capsys, "nothing.csv"), "nothing.csv")
    assert_refused(run_on(capsys, "header.csv"), "header.csv", "no rows")


def test_damaged_files(here, capsys):
    whole = (here / "good.parquet").read_bytes()
    (here / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (here / "text.parquet").write_text("user,item\n1,2\n")
    zipped = gzip.compress(LOGS.write_csv().encode())
    (here / "cut.csv.gz").write_bytes(zipped[: len(zipped) // 2])
    for name in ("cut.parquet", "text.parquet", "cut.csv.gz"):
        assert_refused(run_on(capsys, name), name)


def test_too_many_fields_name_file_and_line(here, capsys):
    lines = LOGS.write_csv().splitlines()
    lines[7] += ",surplus"
    (here / "bad.csv").write_text("\n".join(lines) + "\n")
    assert_refused(run_on(capsys, "bad.csv"), "bad.csv", "line 8")
    code, text = run_on(
        capsys, "bad.csv", "+dataset.csv={on_malformed: skip}", *SMALL, "overwrite=true"
    )
    assert code == 0, text
    assert "1 malformed rows were skipped" in text
    assert "line 8" in text


SMALL = ["trainer.epochs=1", "trainer.tensorboard=false", "split=random"]


def test_missing_column_suggests_the_nearest(here, capsys):
    (here / "conf" / "features" / "mine.yaml").write_text(FEATURES.replace("item]", "itm]"))
    assert_refused(run_on(capsys, "good.parquet"), "features[0]", "'itm'", "Did you mean 'item'?")


def test_every_problem_with_the_data_at_once(here, capsys):
    text = FEATURES.replace("item]", "itm]").replace("[click]", "[clik]")
    (here / "conf" / "features" / "mine.yaml").write_text(text)
    outcome = run_on(capsys, "good.parquet", "dataset.time=tss", "split=temporal")
    assert_refused(outcome, "3 problems", "'itm'", "'clik'", "'tss'")


def test_label_of_one_class(here, capsys):
    LOGS.with_columns(click=pl.lit(1)).write_parquet("one.parquet")
    assert_refused(run_on(capsys, "one.parquet"), "label 'click' has one class only", "none is 0")


def test_label_that_is_no_class(here, capsys):
    LOGS.with_columns(click=pl.col("ts") % 5).write_parquet("stars.parquet")
    assert_refused(run_on(capsys, "stars.parquet"), "label 'click'", "other than 0 and 1")


def test_no_label_and_no_features(here, capsys):
    path = here / "conf" / "features" / "mine.yaml"
    path.write_text("# @package _global_\nfeatures:\n  - {columns: [user], ops: [Categorify]}\n")
    assert_refused(run_on(capsys, "good.parquet"), "no column is tagged target")
    path.write_text(FEATURES.replace("[Categorify]", "[]"))
    assert_refused(run_on(capsys, "good.parquet"), "categorical or continuous")


def test_nulls_that_a_model_cannot_read(here, capsys):
    path = here / "conf" / "features" / "mine.yaml"
    path.write_text(FEATURES + "  - {columns: [price], ops: [Normalize]}\n")
    holes = [None if i % 3 == 0 else float(i) for i in range(60)]
    LOGS.with_columns(price=pl.Series(holes)).write_parquet("holes.parquet")
    assert_refused(run_on(capsys, "holes.parquet"), "column 'price'", "FillMissing")


def test_run_dir_that_cannot_be_written(here, capsys):
    (here / "file").write_text("x")
    outcome = call(capsys, "run", "run_dir=file/below")
    assert_refused(outcome, "file", "run_dir=")
    assert_refused(call(capsys, "run", "run_dir=/proc/merlinkit"), "cannot be written")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_run_dir_without_permission(here, capsys):
    (here / "locked").mkdir(mode=0o500)
    assert_refused(call(capsys, "run", "run_dir=locked/x"), "cannot be written")


def test_run_dir_with_foreign_files(here, capsys):
    (here / "out").mkdir()
    (here / "out" / "thesis.tex").write_text("x")
    assert_refused(run_on(capsys, "good.parquet"), "files that are not of a run")
    assert (here / "out" / "thesis.tex").read_text() == "x"


def test_run_dir_with_another_run(here, capsys):
    assert run_on(capsys, "good.parquet", *SMALL)[0] == 0
    outcome = run_on(capsys, "good.parquet", *SMALL, "model.embedding_dim=4")
    assert_refused(outcome, "a complete earlier run", "model differ", "overwrite=true")
    assert run_on(capsys, "good.parquet", *SMALL, "model.embedding_dim=4", "overwrite=true")[0] == 0


def test_run_dir_in_use(here, capsys):
    import fcntl

    (here / "out").mkdir()
    with (here / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert_refused(run_on(capsys, "good.parquet"), "is in use by")


def test_interrupt_ends_with_130(here, capsys, monkeypatch):
    def interrupted(*arguments, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("merlinkit.pipeline.verbs.run_etl", interrupted)
    code, text = run_on(capsys, "good.parquet")
    assert code == 130
    assert "interrupted" in text
    assert "to continue: merlinkit run dataset=files" in text


def test_a_bug_keeps_its_traceback(here, monkeypatch):
    def broken(*arguments, **named):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("merlinkit.pipeline.verbs.run_etl", broken)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main(["run", "dataset=synthetic", "dataset.rows=100", "run_dir=out"])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{columns: [tags], ops: [{op: AddTags, tags: continuous}]}", "'tags' is tagged cont"),
        ("{columns: [item], ops: [{op: AddTags, tags: categorical}]}", "'item' is tagged categ"),
        ("{columns: [user], ops: [{op: AddTags, tags: categorical}]}", "'user' is tagged categ"),
        ("{columns: [user], ops: [{op: AddTags, tags: continuous}]}", "'user' is tagged cont"),
        ("{columns: [user], ops: [{op: AddTags, tags: [target]}]}", "'user' must hold one number"),
        (
            "{columns: [click], ops: [{op: AddTags, tags: [target, multi_class_classification]}]}",
            "is tagged 'multi_class_classification'",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["run", "plan"])
def test_columns_that_no_model_can_read_are_found_before_any_work(
    verb, entry, message, here, capsys
):
    LOGS.with_columns(tags=pl.lit([1, 2])).write_parquet("lists.parquet")
    label = "" if "target" in entry else "{columns: [click], ops: [{op: AddTags, tags: target}]}"
    features = f"# @package _global_\nfeatures:\n  - {entry}\n  - {label}\n"
    (here / "conf" / "features" / "mine.yaml").write_text(features.replace("  - \n", ""))
    given = ["dataset=files", "dataset.path=lists.parquet", "dataset.time=ts", "features=mine"]
    assert_refused(call(capsys, verb, *given, "run_dir=out"), message)
    assert not (here / "out").exists()


def test_a_training_that_failed_can_be_tried_again(here, capsys):
    code, text = run_on(capsys, "good.parquet", "trainer.learning_rate=1e30", "trainer.epochs=30")
    assert code != 0, text
    finished = (here / "out" / "data" / "train" / "_SUCCESS").stat().st_mtime_ns
    code, text = run_on(capsys, "good.parquet", "trainer.epochs=1")
    assert code == 0, text
    assert (here / "out" / "data" / "train" / "_SUCCESS").stat().st_mtime_ns == finished


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", "{"),
        ("run.json", '{"format": 1, "stages": {"etl": 5}, "status": "complete"}'),
        ("config.yaml", "a: ["),
    ],
)
def test_a_damaged_run_directory_can_be_overwritten(name, content, here, capsys):
    assert run_on(capsys, "good.parquet", "trainer.epochs=1")[0] == 0
    (here / "out" / name).write_text(content)
    assert_refused(run_on(capsys, "good.parquet", "trainer.epochs=1"), name, "overwrite=true")
    code, text = run_on(capsys, "good.parquet", "trainer.epochs=1", "overwrite=true")
    assert code == 0, text


def test_overwriting_a_model_keeps_the_data(here, capsys):
    assert run_on(capsys, "good.parquet", "trainer.epochs=1")[0] == 0
    finished = (here / "out" / "data" / "train" / "_SUCCESS").stat().st_mtime_ns
    changed = "model.embedding_dim=4"
    assert_refused(
        run_on(capsys, "good.parquet", "trainer.epochs=1", changed), "processed data stays"
    )
    code, text = run_on(capsys, "good.parquet", "trainer.epochs=1", changed, "overwrite=true")
    assert code == 0, text
    assert (here / "out" / "data" / "train" / "_SUCCESS").stat().st_mtime_ns == finished


def test_csv_options_can_be_overridden_one_by_one(here, capsys):
    LOGS.write_csv("logs.csv", separator="|")
    code, text = run_on(capsys, "logs.csv", "dataset.csv.delimiter='|'", "trainer.epochs=1")
    assert code == 0, text


def test_a_filter_that_leaves_nothing_is_blamed(here, capsys):
    features = FEATURES.replace(
        "columns: [click]\n    ops: [",
        "columns: [click]\n    ops: [{op: Filter, predicate: click > 5}, ",
    )
    (here / "conf" / "features" / "mine.yaml").write_text(features)
    assert_refused(run_on(capsys, "good.parquet"), "operators that remove rows")
