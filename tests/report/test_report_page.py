"""The page shows what the run directory holds, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from merlinkit.errors import RunDirError
from merlinkit.report.page import write_report
from merlinkit.schema import Column, Domain, Schema
from tests.report.runs import (
    METRICS,
    RUN,
    START,
    Element,
    Run,
    profile_entry,
    stage,
    train_events,
    valid_event,
)

ALL_SECTIONS = [
    "summary",
    "notes",
    "data",
    "stages",
    "training",
    "calibration",
    "output",
    "configuration",
    "environment",
]


def values(elements: list[Element]) -> list[float]:
    return [float(element.attributes["value"]) for element in elements]


def test_full_run_has_all_sections_and_links_to_them(full_run: Run) -> None:
    page = full_run.page()
    assert page.declaration == "DOCTYPE html"
    assert page.sections == ALL_SECTIONS
    links = [element.attributes["href"] for element in page.find("a")]
    assert links == [f"#{name}" for name in ALL_SECTIONS[2:]]


def test_header_names_run_data_engine_and_status(full_run: Run) -> None:
    page = full_run.page()
    [title] = page.find("h1")
    assert title.text.split() == ["2026-11-30_10-00-00", "completed"]
    [header] = page.find("header")
    assert "Dataset movies" in header.text
    assert "Engine cpu" in header.text


def test_key_metrics_are_those_of_the_file(full_run: Run) -> None:
    page = full_run.page()
    valid, test, baseline = METRICS["valid"], METRICS["test"], METRICS["baseline"]["test"]
    assert values(page.find("data", "summary")) == [
        valid["auc"],
        valid["logloss"],
        valid["normalized_entropy"],
        test["auc"],
        baseline["auc"],
        test["logloss"],
        test["normalized_entropy"],
    ]
    shown = [element.text for element in page.find("data", "summary")]
    assert shown[:2] == ["0.7789", "0.4512"]
    assert page.rows("summary") == [
        ["Part", "AUC", "Logloss", "Normalized entropy", "Rows"],
        ["Validation", "0.7789123", "0.4512346", "0.851", "30"],
        ["Test", "0.77123", "0.4555", "0.86", "40"],
        ["baseline · Test", "0.70111", "–", "–", "–"],
    ]


def test_stages_show_time_memory_and_throughput(full_run: Run) -> None:
    rows = full_run.page().rows("stages")
    assert [row[0] for row in rows[1:]] == ["ingest", "fit", "train"]
    assert rows[1] == [
        "ingest",
        "done",
        "2026-11-30 10:00:00 UTC",
        "3.2 s",
        "310 MiB",
        "1,234",
        "380",
    ]
    assert rows[2][3:] == ["1 min 30 s", "2.0 GiB", "1,000", "11"]
    assert rows[3][3:] == ["2 h 02 min", "1.0 GiB", "5,000", "1"]


def test_summary_tells_rows_time_and_memory(full_run: Run) -> None:
    assert full_run.page().facts("summary") == {
        "Training rows": "1,234",
        "Validation rows": "30",
        "Test rows": "40",
        "Raw columns": "1",
        "First to last event": "2 h 02 min",
        "Peak memory": "2.0 GiB",
    }


def test_stage_bars_are_shares_of_the_longest_and_largest(full_run: Run) -> None:
    page = full_run.page()
    widths = [e.attributes["style"] for e in page.find("i", "stages")]
    # 3.25 s and 90 s of 7325 s; 310, 2048 and 1024 MiB of 2048.
    assert widths == [
        "width:0.0%",
        "width:15.1%",
        "width:1.2%",
        "width:100.0%",
        "width:100.0%",
        "width:50.0%",
    ]


def test_profile_shows_the_entries_of_each_part(full_run: Run) -> None:
    page = full_run.page()
    rows = page.rows("data")
    assert rows[1][:6] == [
        "priceInt64",
        "50.0% (617 null)",
        "7",
        "-3",
        "98,765",
        "12.5± 3.25",
    ]
    assert "Training 1,234 rows, 1 columns" in page.text("data")
    assert "Test 40 rows, 1 columns" in page.text("data")
    titles = [element.text for element in page.find("title", "data")]
    assert titles[0] == "Histogram from 0 to 20; most values, 600, between 0 and 10"


def test_training_shows_curves_and_the_best_step(full_run: Run) -> None:
    page = full_run.page()
    assert page.facts("training") == {
        "Last step": "50",
        "Epochs": "2",
        "Last training loss": "0.6500",
        "Best validation AUC": "0.7300 at step 50",
        "Best validation logloss": "0.5100 at step 50",
        "Best validation normalized entropy": "0.9300 at step 50",
        "Median samples/s": "5,030",
    }
    charts = [element.attributes["aria-label"] for element in page.find("svg", "training")]
    assert [label.split(" by step")[0] for label in charts] == [
        "Loss",
        "Validation AUC",
        "Validation normalized entropy",
        "Learning rate",
        "Throughput",
    ]
    assert "training: 5 points, first 0.69, last 0.65, 0.65 to 0.69" in charts[0]
    points = [element.text for element in page.find("title", "training")]
    assert "validation: 0.71 at step 30" in points
    assert page.rows("training") == [
        ["Step", "Epoch", "AUC", "Logloss", "Normalized entropy"],
        ["30", "0", "0.7100", "0.5200", "0.9500"],
        ["50", "1", "0.7300", "0.5100", "0.9300"],
    ]


def test_calibration_shows_bins_with_rows(full_run: Run) -> None:
    page = full_run.page()
    assert page.rows("calibration")[1:] == [
        ["0", "0.1", "31", "0.05", "0.04"],
        ["0.1", "0.2", "9", "0.15", "0.17"],
    ]
    assert values(page.find("data", "calibration")) == [0.0189]
    titles = [element.text for element in page.find("title", "calibration")]
    assert "model: 0.17 at mean prediction 0.15" in titles
    assert "0 to 0.1: 31" in titles


def test_output_schema_shows_domains_embeddings_and_tags(full_run: Run) -> None:
    page = full_run.page()
    rows = page.rows("output")
    # round(1.6 * 1000 ** 0.56) = 77; both columns share one table.
    item = ["item", "Int64", "0 to 999shared as items", "1,000", "77", "categorical"]
    assert rows[1] == item
    assert rows[2][:2] == ["seen", "List(Int64)"]
    assert rows[4] == ["click", "Int8", "0 to 1", "2", "–", "target"]
    assert "4 columns; 1 embedding tables with 77,000 parameters" in page.text("output")


def test_parts_with_other_schemas_are_named(full_run: Run) -> None:
    full_run.schema(Schema([Column("item", "Int32", domain=Domain(0, 999))]), "valid")
    text = full_run.page().text("output")
    assert "Validation against Training: column 'item': dtype Int32 against Int64" in text


def test_environment_shows_versions_and_command(full_run: Run) -> None:
    page = full_run.page()
    rows = dict(map(tuple, page.rows("environment")))
    assert rows["polars"] == "1.44.2"
    assert rows["Seed"] == "42"
    assert rows["Started"] == "2026-11-30 10:00:00 UTC"
    [command] = page.find("pre", "environment")
    assert command.text == RUN["command"]


def test_configuration_is_readable_yaml_as_resolved(full_run: Run) -> None:
    [yaml] = full_run.page().find("pre", "configuration")
    assert yaml.text == "dataset:\n  name: movies\nseed: 42\n"


def test_nothing_is_loaded_from_elsewhere(full_run: Run) -> None:
    page = full_run.page()
    for element in page.elements:
        assert element.tag not in {"script", "link", "img", "iframe", "object", "base"}
        for name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
            assert element.attributes.get(name, "#").startswith("#")
    assert not re.search(r"url\(|@import|https?://", page.source)
    [policy] = [e for e in page.find("meta") if "http-equiv" in e.attributes]
    assert policy.attributes["content"].startswith("default-src 'none'")


def test_charts_and_tables_are_named_for_screen_readers(full_run: Run) -> None:
    page = full_run.page()
    drawings = page.find("svg")
    assert len(drawings) >= 9
    for element in drawings:
        assert element.attributes["role"] == "img"
        assert element.attributes.get("aria-label") or element.text
    for element in page.find("th"):
        assert element.attributes["scope"] in ("row", "col")
    for element in page.find("section"):
        assert element.attributes["aria-labelledby"] in {
            heading.attributes.get("id") for heading in page.find("h2")
        }


def test_run_without_training_has_no_training_section(run: Run) -> None:
    run.events([*stage("ingest", 1, 100, 10), *stage("transform", 2, 120, 10)])
    run.json("profile.json", {"parts": {"train": 10}, "columns": [profile_entry("price")]})
    run.json("run.json", RUN)
    assert run.page().sections == [
        "summary",
        "data",
        "stages",
        "configuration",
        "environment",
    ]


def test_configuration_alone_gives_a_page(run: Run) -> None:
    page = run.page()
    assert page.sections == ["configuration"]
    assert "Dataset movies" in page.find("header")[0].text


def test_missing_configuration_is_a_note(run: Run) -> None:
    (run.path / "config.yaml").unlink()
    page = run.page()
    assert page.sections == ["notes"]
    assert "config.yaml could not be read" in page.text("notes")


def test_missing_run_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="no run directory"):
        write_report(tmp_path / "nowhere")


def test_page_is_replaced_whole_and_leaves_no_temporary_file(full_run: Run) -> None:
    target = full_run.path / "report.html"
    target.write_text("old", encoding="utf-8")
    assert write_report(full_run.path) == target
    first = target.read_bytes()
    write_report(full_run.path)
    assert target.read_bytes() == first
    assert not list(full_run.path.glob(".tmp-*"))


def test_failed_write_keeps_the_earlier_page(
    full_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = full_run.path / "report.html"
    target.write_text("old", encoding="utf-8")

    def full_disk(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(RunDirError, match="No space left on device"):
        write_report(full_run.path)
    assert target.read_text(encoding="utf-8") == "old"
    assert not list(full_run.path.glob(".tmp-*"))


def test_page_that_cannot_be_written_is_an_error_and_leaves_nothing(full_run: Run) -> None:
    (full_run.path / "report.html").mkdir()
    with pytest.raises(RunDirError, match=r"cannot write .*report\.html"):
        write_report(full_run.path)
    assert not list(full_run.path.glob(".tmp-*"))


def test_secrets_of_configuration_and_command_are_hidden(run: Run) -> None:
    (run.path / "config.yaml").write_text(
        "storage: {aws_secret_access_key: XXXX1, region: eu}\n"
        "url: s3://me:XXXX2@host/data\nmax_tokens: 7\n",
        encoding="utf-8",
    )
    run.json(
        "run.json",
        {"command": "merlinkit run storage.aws_secret_access_key=XXXX3", "api_key": "XXXX4"},
    )
    page = run.page()
    assert "XXXX" not in page.source
    assert "max_tokens: 7" in page.source
    assert "region: eu" in page.source
    assert "are hidden" in page.text("configuration")


def test_running_and_killed_stages_are_told_apart(run: Run) -> None:
    killed = stage("fit", 5, 100, 10)[:1]
    run.events([*killed, *stage("fit", 5, 100, 10), *stage("train", 5, 100, 10)[:1]])
    run.json("run.json", {"status": "running"})
    assert [row[:2] for row in run.page().rows("stages")[1:]] == [
        ["fit", "not finished"],
        ["fit", "done"],
        ["train", "running"],
    ]
    run.json("run.json", {"status": "failed", "error": "out of memory"})
    page = run.page()
    assert [row[1] for row in page.rows("stages")[1:]] == ["not finished", "done", "not finished"]
    assert "out of memory" in page.find("header")[0].text


def test_failed_stage_is_marked_with_its_time(run: Run) -> None:
    start, end = stage("fit", 5, 100, 10)
    failed = {key: end[key] for key in ("time", "kind", "stage", "seconds")}
    run.events([start, {**failed, "status": "failed"}])
    page = run.page()
    assert page.rows("stages")[1][:2] == ["fit", "failed"]
    assert page.rows("stages")[1][3:] == ["5.0 s", "–", "–", "–"]
    [mark] = [e for e in page.find("span", "stages") if "status" in e.attributes.get("class", "")]
    assert mark.attributes["class"] == "status bad"


def test_notes_are_listed_once_with_their_number(run: Run) -> None:
    note = {"time": START, "kind": "note", "message": "3 malformed rows left out"}
    run.events([note, {**note, "message": "licence: research"}, note])
    items = [" ".join(element.text.split()) for element in run.page().find("li", "notes")]
    assert items == ["3 malformed rows left out (2 times)", "licence: research"]


def test_restart_from_a_checkpoint_replaces_what_was_logged_beyond_it(run: Run) -> None:
    before = [*train_events(range(10, 60, 10)), valid_event(50, 0, auc=0.99)]
    resume = {"time": START, "kind": "resume", "step": 30, "epoch": 0}
    after = [*train_events(range(40, 80, 10)), valid_event(60, 0, auc=0.72)]
    run.events([*before, resume, *after])
    page = run.page()
    assert page.rows("training")[1:] == [["60", "0", "0.7200"]]
    charts = [element.attributes["aria-label"] for element in page.find("svg", "training")]
    assert "training: 7 points" in charts[0]

    run.events([*before, *after])
    assert run.page().rows("training")[1:] == [["60", "0", "0.7200"]]


def test_check_between_the_checkpoint_and_the_next_step_is_void_too(run: Run) -> None:
    resume = {"time": START, "kind": "resume", "step": 30, "epoch": 0}
    checks = [valid_event(30, 0, auc=0.70), valid_event(35, 0, auc=0.99)]
    run.events(
        [*train_events(range(10, 40, 10)), *checks, resume, *train_events(range(40, 60, 10))]
    )
    assert run.page().rows("training")[1:] == [["30", "0", "0.7000"]]


def test_early_stop_is_told(run: Run) -> None:
    stop = {"time": 0, "kind": "early_stop", "step": 50, "monitor": "auc", "best": 0.75}
    run.events([*train_events(), {**stop, "epoch": 1}])
    expected = "Training stopped early at step 50: AUC did not get better than 0.7500."
    assert expected in run.page().text("training")


def test_long_training_is_thinned_by_means(run: Run) -> None:
    events = [
        {"kind": "train", "step": step, "epoch": 0, "loss": 1.0 if step % 2 else 3.0}
        for step in range(1, 481)
    ]
    run.events(events)
    page = run.page()
    [chart] = page.find("svg", "training")
    assert "training: 240 points, first 2, last 2, 2 to 2" in chart.attributes["aria-label"]
    assert "is the mean of 2 logged values" in page.text("training")


def test_page_of_an_ordinary_run_is_small(full_run: Run) -> None:
    columns = [
        profile_entry(f"column_{index}", part, top=[[f"value {k}", 10] for k in range(10)])
        for part in ("train", "valid", "test")
        for index in range(40)
    ]
    full_run.json("profile.json", {"parts": {"train": 1234}, "columns": columns})
    full_run.events([*train_events(range(1, 20_000)), *stage("train", 60, 100, 10)])
    assert len(json.dumps(columns)) > 30_000
    assert write_report(full_run.path).stat().st_size < 400_000
