"""Which files a path, list, glob or folder names, and what is said when there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from merlinkit.data.sources import format_of, resolve_files, short_names
from merlinkit.errors import DataError, ParameterError


def touch(folder: Path, *names: str) -> list[Path]:
    paths = []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.parquet", "parquet"),
        ("a.PQ", "parquet"),
        ("a.csv", "csv"),
        ("a.csv.gz", "csv"),
        ("a.b.tsv", "tsv"),
        ("a.tsv.GZ", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.parquet.gz", None),
        ("a.gz", None),
        ("a.json", None),
        ("a", None),
    ],
)
def test_format_of(name: str, expected: str | None) -> None:
    assert format_of(Path(name)) == expected


def test_one_file(tmp_path: Path) -> None:
    [path] = touch(tmp_path, "a.csv")
    for source in (path, str(path)):
        found = resolve_files(source)
        assert (found.paths, found.format, found.root) == ((path,), "csv", tmp_path)


def test_a_folder_holds_what_lies_below_sorted_and_leaves_hidden_names_out(tmp_path: Path) -> None:
    touch(tmp_path, "_SUCCESS", ".x.csv", "_y.csv", "notes.md", "_old/a.csv", ".git/a.csv")
    wanted = touch(tmp_path, "b.csv", "a.csv", "day=2/c.csv.gz", "day=1/c.csv")
    assert list(resolve_files(tmp_path).paths) == sorted(wanted)


def test_a_link_to_a_folder_is_followed_and_a_circle_of_links_ends(tmp_path: Path) -> None:
    touch(tmp_path, "elsewhere/b.csv", "data/a.csv")
    (tmp_path / "data" / "more").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "data" / "circle").symlink_to(tmp_path / "data")
    names = [path.name for path in resolve_files(tmp_path / "data").paths]
    assert names == ["a.csv", "b.csv"]


def test_globs(tmp_path: Path) -> None:
    touch(tmp_path, "a1.csv", "a2.csv", "b1.csv", "x/a3.csv", "x/y/a4.csv", "x/_z/a5.csv")

    def names(pattern: str) -> list[str]:
        return [path.name for path in resolve_files(tmp_path / pattern).paths]

    assert names("a*.csv") == ["a1.csv", "a2.csv"]
    assert names("a[2-9].csv") == ["a2.csv"]
    assert names("**/*.csv") == ["a1.csv", "a2.csv", "b1.csv", "a3.csv", "a4.csv"]
    assert names("**") == ["a1.csv", "a2.csv", "b1.csv", "a3.csv", "a4.csv"]
    assert names("x*") == ["a3.csv", "a4.csv"]
    assert names("x/_z/*.csv") == ["a5.csv"]


def test_a_name_that_looks_like_a_glob_is_a_file_if_it_is_there(tmp_path: Path) -> None:
    [path] = touch(tmp_path, "a[1].csv")
    assert resolve_files(path).paths == (path,)


def test_a_list_is_sorted_and_repeats_count_once(tmp_path: Path) -> None:
    b, a, c = touch(tmp_path, "b.csv", "a.csv", "sub/c.csv")
    found = resolve_files([b, str(a), b, str(tmp_path / "sub" / "*.csv")])
    assert found.paths == (a, b, c)
    assert found.root == tmp_path


def test_a_missing_file_suggests_near_names(tmp_path: Path) -> None:
    touch(tmp_path, "ratings.csv", "users.csv")
    with pytest.raises(DataError, match=r"no file .*rating\.csv\. Did you mean 'ratings\.csv'\?"):
        resolve_files(tmp_path / "rating.csv")
    with pytest.raises(DataError, match=r"there is no folder .*nowhere"):
        resolve_files(tmp_path / "nowhere" / "a.csv")


def test_all_missing_files_of_a_list_are_named_at_once(tmp_path: Path) -> None:
    [path] = touch(tmp_path, "a.csv")
    with pytest.raises(DataError, match=r"x\.csv.*y\.csv"):
        resolve_files([path, tmp_path / "x.csv", tmp_path / "y.csv"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("*.csv", "nothing matches"),
        ("nowhere/*.csv", "nothing matches .*no file"),
        ("empty", "holds no data files: it is empty"),
        ("docs", r"files that end in .*parquet.* were expected, found readme\.md"),
        ("mixed", r"files of several formats: 1 csv \(such as .*a\.csv\); 1 parquet"),
        ("docs/readme.md", "its name does not tell its format"),
        ("packed/a.zip", r"\.zip files cannot be read; unpack it"),
    ],
)
def test_nothing_to_read_is_one_clear_error(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    touch(tmp_path, "docs/readme.md", "mixed/a.csv", "mixed/b.parquet", "packed/a.zip")
    with pytest.raises(DataError, match=message):
        resolve_files(tmp_path / source)


def test_csv_and_tsv_do_not_mix_but_a_format_chooses(tmp_path: Path) -> None:
    _, tsv = touch(tmp_path, "a.csv", "b.tsv")
    with pytest.raises(DataError, match="several formats"):
        resolve_files(tmp_path)
    assert resolve_files(tmp_path, "tsv").paths == (tsv,)


def test_a_format_reads_files_without_a_suffix(tmp_path: Path) -> None:
    paths = touch(tmp_path, "000000_0", "000001_0")
    assert list(resolve_files(tmp_path, "csv").paths) == paths


@pytest.mark.parametrize(
    ("source", "message"),
    [([], "the list of files is empty"), ("", "path of the data is empty"), ([3], "holds 3")],
)
def test_sources_that_name_nothing(source: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        resolve_files(source)  # type: ignore[arg-type]


def test_remote_addresses_are_refused() -> None:
    with pytest.raises(DataError, match="only local files"):
        resolve_files("s3://bucket/a.parquet")


def test_a_folder_in_a_list_is_refused(tmp_path: Path) -> None:
    touch(tmp_path, "sub.csv/a.csv")
    with pytest.raises(DataError, match="is a folder where a file was expected"):
        resolve_files([tmp_path / "sub.csv"])


def test_an_unknown_format_suggests_near_ones(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Did you mean 'parquet'"):
        resolve_files(tmp_path, "parquett")


def test_an_incomplete_folder_is_refused(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv", "_INCOMPLETE")
    for source in (tmp_path, tmp_path / "*.csv", tmp_path / "a.csv"):
        with pytest.raises(DataError, match="is incomplete"):
            resolve_files(source)


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [path] = touch(tmp_path, "a.csv")
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    assert resolve_files("~/a.csv").paths == (path,)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["r/a.csv", "r/b.parquet"], ["a", "b"]),
        (["r/1/a.csv", "r/2/a.csv"], ["1__a", "2__a"]),
        (["r/a.csv", "r/a.csv.gz"], ["a_csv", "a_csv_gz"]),
        (["r/x__a.csv", "r/x/a.csv", "r/y/a.csv"], ["x__a_csv", "x__a_csv__2", "y__a"]),
        (["r/_a.csv"], ["a"]),
        (["r/v1.2.csv"], ["v1.2"]),
    ],
)
def test_short_names_are_distinct(paths: list[str], expected: list[str]) -> None:
    assert short_names([Path(path) for path in paths], Path("r")) == expected
