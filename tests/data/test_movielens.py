"""MovieLens 100k: the real data, fetched with pip, and every way the fetch can fail."""

from __future__ import annotations

import csv
import datetime
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

from merlinkit.data.providers import cache_root, movielens, movielens_100k, movielens_100k_schema
from merlinkit.errors import DataError
from merlinkit.schema import Schema

WHEEL = "recbole-1.2.1-py3-none-any.whl"
INSIDE = "recbole/dataset_example/ml-100k/ml-100k"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data set, fetched from the index."""
    return movielens_100k(tmp_path_factory.mktemp("fetched"))


@pytest.fixture(scope="module")
def frame(folder: Path) -> pl.DataFrame:
    """Return the ratings."""
    return pl.read_parquet(folder / "ratings.parquet")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, fetched without our code."""
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(target)]
    subprocess.run([*command, "recbole==1.2.1"], check=True, capture_output=True)
    return target / WHEEL


def place(wheel: Path, cache: Path) -> None:
    """Put the wheel where a user without network would put it."""
    cache.mkdir(parents=True, exist_ok=True)
    (cache / WHEEL).write_bytes(wheel.read_bytes())


# -- the data ---------------------------------------------------------------------------------


def test_size_and_marginals_are_the_published_ones(frame: pl.DataFrame) -> None:
    assert frame.height == 100_000
    assert frame["user_id"].n_unique() == 943
    assert frame["item_id"].n_unique() == 1_682
    counts = dict(frame["rating"].value_counts().iter_rows())
    assert counts == {1.0: 6110, 2.0: 11370, 3.0: 27145, 4.0: 34174, 5.0: 21201}
    first, last = frame["timestamp"].min(), frame["timestamp"].max()
    assert first == datetime.datetime(1997, 9, 20, 3, 5, 10)
    assert last == datetime.datetime(1998, 4, 22, 23, 10, 38)


def test_first_row_is_joined_with_its_user_and_film(frame: pl.DataFrame) -> None:
    assert frame.row(0) == (
        *(196, 242, 3.0, datetime.datetime(1997, 12, 4, 15, 55, 49)),
        *(49, "M", "writer", "55105", "Kolya", 1996, "Comedy"),
    )


def test_star_wars_is_rated_most(frame: pl.DataFrame) -> None:
    top = frame.group_by("title", "release_year").len().sort("len", descending=True).row(0)
    assert top == ("Star Wars", 1977, 583)


def test_join_equals_one_made_by_hand(frame: pl.DataFrame, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tables = {
            kind: list(
                csv.reader(
                    io.StringIO(archive.read(f"{INSIDE}.{kind}").decode("utf-8"), newline="\n"),
                    delimiter="\t",
                    quoting=csv.QUOTE_NONE,
                )
            )[1:]
            for kind in ("inter", "user", "item")
        }
    users = {row[0]: row[1:] for row in tables["user"]}
    films = {row[0]: row[1:] for row in tables["item"]}
    odd = {"267", "1412"}  # their titles and years are repaired
    for row, (user, item, rating, seconds) in zip(frame.iter_rows(), tables["inter"], strict=True):
        age, gender, occupation, zip_code = users[user]
        title, year, genres = films[item]
        time = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).replace(tzinfo=None)
        expected = (int(user), int(item), float(rating), time, int(age), gender, occupation)
        assert row[:8] == (*expected, zip_code)
        assert row[10].split("|") == genres.split(" ")
        if item not in odd:
            assert row[8:10] == (title, int(year))


def test_odd_films_are_repaired(frame: pl.DataFrame) -> None:
    films = frame.select("item_id", "title", "release_year", "genres").unique().sort("item_id")
    by_id = {row[0]: row[1:] for row in films.iter_rows()}
    assert by_id[267] == (None, None, "unknown")
    title = "Land Before Time III: The Time of the Great Giving"
    assert by_id[1412] == (title, 1995, "Animation|Children's")
    assert by_id[1][2] == "Animation|Children's|Comedy"
    assert by_id[543][0] == "Misérables, Les"
    others = films.filter(pl.col("item_id") != 267)
    assert others.null_count().row(0) == (0, 0, 0, 0)
    assert others.select(pl.col("release_year").is_between(1922, 1998).all()).item()


def test_genres_split_into_the_known_nineteen(frame: pl.DataFrame) -> None:
    films = frame.unique("item_id")
    genres = films["genres"].str.split("|").explode(empty_as_null=True)
    assert genres.null_count() == 0
    assert genres.n_unique() == 19
    counts = dict(genres.value_counts().iter_rows())
    # As published with the data.
    assert (counts["Drama"], counts["Comedy"], counts["Sci-Fi"], counts["Film-Noir"]) == (
        *(725, 505, 101, 24),
    )


def test_schema_beside_the_data_describes_it(folder: Path, frame: pl.DataFrame) -> None:
    schema = Schema.load(folder / "schema.json")
    assert schema == movielens_100k_schema()
    assert schema.to_polars() == frame.schema
    assert schema.by_tag("user_id").names == ["user_id"]


def test_damaged_tables_are_refused(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        log, users, items = (archive.read(f"{INSIDE}.{kind}") for kind in ("inter", "user", "item"))
    with pytest.raises(DataError, match="99,999 ratings found, 100,000 expected"):
        movielens._join(log[: log.rstrip().rfind(b"\n") + 1], users, items)
    with pytest.raises(DataError, match="942 users found, 943 expected"):
        movielens._join(log, users[: users.rstrip().rfind(b"\n") + 1], items)
    with pytest.raises(DataError, match="unknown genre 'Opera'"):
        movielens._join(log, users, items.replace(b"Drama", b"Opera"))
    with pytest.raises(DataError, match="damaged"):
        movielens._join(log.replace(b"881250949", b"yesterday"), users, items)
    with pytest.raises(DataError, match="'user' has 4 columns, expected 5"):
        movielens._join(log, b"a\tb\tc\td\n1\t2\t3\t4\n", items)


# -- the cache --------------------------------------------------------------------------------


def test_second_call_needs_no_pip_and_says_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert movielens_100k(folder.parent) == folder
    assert capsys.readouterr() == ("", "")


def test_terms_are_printed_when_the_cache_is_filled(
    wheel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place(wheel, tmp_path)
    folder = movielens_100k(tmp_path)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.index("fetching recbole==1.2.1") < captured.err.index("in " + str(folder))
    assert "Harper" in captured.err
    assert "commercial use" in captured.err
    assert "commercial use" in (folder / "_TERMS.txt").read_text()


def test_wheel_placed_by_hand_is_used_without_pip(
    wheel: Path, tmp_path: Path, frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    place(wheel, tmp_path)
    assert pl.read_parquet(movielens_100k(tmp_path) / "ratings.parquet").equals(frame)


@pytest.mark.parametrize("name", ["ratings.parquet", "schema.json", "_complete.json"])
@pytest.mark.parametrize("how", ["altered", "removed"])
def test_damaged_cache_is_filled_again(
    wheel: Path, tmp_path: Path, frame: pl.DataFrame, name: str, how: str
) -> None:
    place(wheel, tmp_path)
    folder = movielens_100k(tmp_path)
    if how == "altered":
        (folder / name).write_text("{}")
    else:
        (folder / name).unlink()
    movielens_100k(tmp_path)
    assert pl.read_parquet(folder / "ratings.parquet").equals(frame)
    assert Schema.load(folder / "schema.json") == movielens_100k_schema()
    assert (folder / "_complete.json").stat().st_size > 100


def test_killed_fetch_leaves_nothing_that_counts(
    wheel: Path, tmp_path: Path, frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(wheel, tmp_path)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(movielens, "mark_complete", killed)
        with pytest.raises(KeyboardInterrupt):
            movielens_100k(tmp_path)
    folder = tmp_path / "movielens-100k-v1"
    assert not (folder / "_complete.json").exists()
    assert movielens_100k(tmp_path) == folder
    assert pl.read_parquet(folder / "ratings.parquet").equals(frame)
    assert sorted(file.name for file in folder.iterdir()) == [
        *("_TERMS.txt", "_complete.json", "ratings.parquet", "schema.json"),
    ]


def test_processes_may_fill_the_cache_at_once(
    wheel: Path, tmp_path: Path, frame: pl.DataFrame
) -> None:
    place(wheel, tmp_path)
    code = "from merlinkit.data.providers import movielens_100k as get; print(get())"
    environment = {**os.environ, "MERLINKIT_CACHE": str(tmp_path)}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0].decode().strip() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert outputs == [str(tmp_path / "movielens-100k-v1")] * 2
    assert pl.read_parquet(Path(outputs[0]) / "ratings.parquet").equals(frame)


def test_cache_folder_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MERLINKIT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_root() == tmp_path / ".cache" / "merlinkit"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_root() == tmp_path / ".cache" / "merlinkit"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_root() == Path("/xdg/merlinkit")
    monkeypatch.setenv("MERLINKIT_CACHE", "~/ours")
    assert cache_root() == tmp_path / "ours"
    assert cache_root("/given") == Path("/given")


# -- failures: one message that says what to do -----------------------------------------------


def remedy(cache: Path) -> str:
    return f"place the file {WHEEL} in {cache} and try again"


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(DataError, match="No matching distribution") as caught:
        movielens_100k(tmp_path)
    assert remedy(tmp_path) in str(caught.value)
    assert not (tmp_path / "movielens-100k-v1" / "_complete.json").exists()


def test_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(DataError, match="No module named pip") as caught:
        movielens_100k(tmp_path)
    assert remedy(tmp_path) in str(caught.value)


def test_python_that_cannot_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(DataError, match="pip could not be started") as caught:
        movielens_100k(tmp_path)
    assert remedy(tmp_path) in str(caught.value)


def test_other_data_under_the_same_name_is_refused(wheel: Path, tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(wheel) as source,
        zipfile.ZipFile(tmp_path / WHEEL, "w") as target,
    ):
        for kind in ("inter", "user", "item"):
            content = source.read(f"{INSIDE}.{kind}")
            if kind == "inter":
                content = content.replace(b"196\t242\t3", b"196\t242\t5", 1)
            target.writestr(f"{INSIDE}.{kind}", content)
    with pytest.raises(DataError, match=r"ml-100k.inter' has SHA-256") as caught:
        movielens_100k(tmp_path)
    assert remedy(tmp_path) in str(caught.value)
    assert list((tmp_path / "movielens-100k-v1").iterdir()) == []


@pytest.mark.parametrize("damage", ["truncated", "zeroed", "another"])
def test_damaged_wheel_is_refused(wheel: Path, tmp_path: Path, damage: str) -> None:
    content = bytearray(wheel.read_bytes())
    if damage == "truncated":
        content = content[:100_000]
    elif damage == "zeroed":
        with zipfile.ZipFile(wheel) as archive:
            start = archive.getinfo(f"{INSIDE}.inter").header_offset + 2_000
        content[start : start + 5_000] = bytes(5_000)
    else:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("readme.txt", "another package")
        content = bytearray(buffer.getvalue())
    (tmp_path / WHEEL).write_bytes(content)
    with pytest.raises(DataError, match=r"is damaged or another package|has SHA-256") as caught:
        movielens_100k(tmp_path)
    assert remedy(tmp_path) in str(caught.value)


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DataError, match="cannot write the cache folder") as caught:
        movielens_100k(tmp_path / "file")
    assert "MERLINKIT_CACHE" in str(caught.value)
