"""The event log survives kills, concurrent readers and numbers that JSON has no form for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from merlinkit.errors import ArtifactError, RunDirError
from merlinkit.events import EventLog, read_events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_a_line_is_readable_as_soon_as_it_is_written(path: Path) -> None:
    with EventLog(path, clock=lambda: 3.25) as log:
        log.write("train", {"step": 1, "loss": 0.1})
        assert path.read_text() == '{"time": 3.25, "kind": "train", "step": 1, "loss": 0.1}\n'
        log.write("valid", {"metrics": {"auc": 0.75}})
        assert [event["kind"] for event in read_events(path)] == ["train", "valid"]
    assert read_events(path, kind="valid") == [
        {"time": 3.25, "kind": "valid", "metrics": {"auc": 0.75}}
    ]


def test_events_are_appended_by_later_stages(path: Path) -> None:
    for stage in ("etl", "train"):
        with EventLog(path) as log:
            log.write("stage", {"stage": stage})
    assert [event["stage"] for event in read_events(path)] == ["etl", "train"]


def test_numbers_json_has_no_form_for_become_null(path: Path) -> None:
    with EventLog(path) as log:
        log.write("x", {"a": float("nan"), "b": [1.5, float("inf")], "c": {"d": -float("inf")}})
    event = read_events(path)[0]
    assert (event["a"], event["b"], event["c"]) == (None, [1.5, None], {"d": None})
    assert "NaN" not in path.read_text()


def test_text_of_any_kind_stays_on_its_line(path: Path) -> None:
    text = "naïve\nline \u2028 two"
    with EventLog(path) as log:
        log.write("x", {"text": text})
        log.write("y", {})
    assert read_events(path)[0]["text"] == text
    assert len(read_events(path)) == 2


def test_an_unfinished_last_line_is_left_out_and_then_removed(path: Path) -> None:
    path.write_text('{"time": 1, "kind": "a"}\n{"time": 2, "ki')
    assert [event["kind"] for event in read_events(path)] == ["a"]
    with EventLog(path) as log:
        log.write("b", {})
    assert [event["kind"] for event in read_events(path)] == ["a", "b"]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_long_unfinished_line_is_removed(path: Path) -> None:
    path.write_text('{"time": 1, "kind": "a"}\n' + "x" * 200_000)
    EventLog(path).close()
    assert path.read_text() == '{"time": 1, "kind": "a"}\n'
    path.write_text("x" * 200_000)
    EventLog(path).close()
    assert path.read_text() == ""


def test_no_file_has_no_events(path: Path) -> None:
    assert read_events(path) == []


def test_a_broken_line_is_named(path: Path) -> None:
    path.write_text('{"kind": "a"}\nnonsense\n{"kind": "b"}\n')
    with pytest.raises(ArtifactError, match=r"events\.jsonl, line 2: not valid JSON"):
        read_events(path)
    path.write_text("[1]\n")
    with pytest.raises(ArtifactError, match="line 1: not a JSON object"):
        read_events(path)


def test_fields_cannot_replace_time_and_kind(path: Path) -> None:
    with EventLog(path) as log, pytest.raises(ValueError, match="cannot be named 'kind'"):
        log.write("x", {"kind": "y"})


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="cannot write the event log"):
        EventLog(tmp_path / "missing" / "events.jsonl")
