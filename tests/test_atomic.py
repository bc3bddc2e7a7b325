"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from merlinkit.atomic import (
    STALE_SECONDS,
    TEMPORARY_PREFIX,
    atomic_file,
    atomic_folder,
    write_json,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="stop"), atomic_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError("stop")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_only_old_leftovers_of_the_same_file_are_removed(tmp_path: Path) -> None:
    leftovers = [f"{TEMPORARY_PREFIX}{name}" for name in ("1-a.txt", "2-a.txt", "3-b.txt")]
    for name in leftovers:
        (tmp_path / name).write_text("half")
    for name in (leftovers[0], leftovers[2]):
        made = (tmp_path / name).stat().st_mtime - STALE_SECONDS - 10
        os.utime(tmp_path / name, (made, made))
    with atomic_file(tmp_path / "a.txt") as temporary:
        temporary.write_text("whole")
    assert names(tmp_path) == [leftovers[1], leftovers[2], "a.txt"]


def test_folder_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "below" / "target"
    for content in ("first", "second"):
        with atomic_folder(target) as temporary:
            assert names(temporary) == []
            (temporary / f"{content}.txt").write_text(content)
            assert content == "first" or names(target) == ["first.txt"]
    assert names(target) == ["second.txt"]
    assert names(tmp_path / "below") == ["target"]


def test_failed_folder_keeps_the_old_one(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "target") as temporary:
        (temporary / "a").write_text("old")
    with (
        pytest.raises(KeyboardInterrupt),
        atomic_folder(tmp_path / "target") as temporary,
    ):
        (temporary / "b").write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == ["target"]
    assert names(tmp_path / "target") == ["a"]


def test_json_that_other_readers_would_refuse_is_not_written(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"ü": [1, None]})
    with pytest.raises(ValueError, match="nan"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"ü": [1, None]}
    assert names(tmp_path) == ["a.json"]
