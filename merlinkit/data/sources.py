"""From what a user names (path, list, glob or folder) to data files and their format."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from merlinkit.errors import DataError, ParameterError, did_you_mean

__all__ = ["FORMATS", "INCOMPLETE_MARKER", "Files", "format_of", "resolve_files", "short_names"]

FORMATS = ("parquet", "csv", "tsv", "jsonl")
"""Names of the file formats that can be read."""

INCOMPLETE_MARKER = "_INCOMPLETE"
"""A file of this name says that whoever fills the folder has not finished."""

_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_COMPRESSED = (".gz", ".zst")
_READABLE = ", ".join(_SUFFIXES) + " (text also with .gz or .zst)"
_PACKED = {".zip", ".bz2", ".xz", ".lz4", ".7z", ".tar"}


@dataclass(frozen=True)
class Files:
    """The files behind a source.

    Parameters
    ----------
    paths
        Data files, sorted, without repeats.
    format
        One of `FORMATS`.
    root
        The folder they were looked for in; names of files are shortened against it.
    """

    paths: tuple[Path, ...]
    format: str
    root: Path


def format_of(path: Path) -> str | None:
    """Return the format that the suffix of a file name stands for, or None.

    Examples
    --------
    >>> format_of(Path("logs.csv.gz")), format_of(Path("part-0.parquet")), format_of(Path("a.md"))
    ('csv', 'parquet', None)
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        found = _SUFFIXES.get(suffixes[-2]) if len(suffixes) > 1 else None
        return None if found == "parquet" else found
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def resolve_files(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], format: str | None = None
) -> Files:
    """Return the data files that a path, a list, a glob or a folder names.

    Parameters
    ----------
    source
        A file, a folder (all data files in it and below), a glob (``**`` goes through folders) or
        a list of files and globs. Names that start with ``.`` or ``_`` are left out of folders
        and globs. Links to folders are followed.
    format
        One of `FORMATS`; None infers it from the suffixes.

    Raises
    ------
    DataError
        If there is no such file, nothing matches, or the files are of several formats.
    ParameterError
        If the format is unknown.
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(
            f"unknown format '{format}'.{did_you_mean(format, FORMATS)} "
            f"There are: {', '.join(FORMATS)}."
        )
    if isinstance(source, str | os.PathLike):
        paths, root = _from_text(source, format)
    else:
        paths, root = _from_list(source, format)
    unique = sorted(set(paths))
    _refuse_incomplete(path.parent for path in unique)
    return Files(tuple(unique), format or _common_format(unique, str(source)), root)


def _from_text(source: str | os.PathLike[str], format: str | None) -> tuple[list[Path], Path]:
    text = os.fspath(source)
    if not text:
        raise DataError("the path of the data is empty")
    if "://" in text:
        raise DataError(f"{text}: only local files can be read; copy or mount it first")
    path = Path(text).expanduser()
    # A path that is there is taken as it stands, even if its name holds characters of a glob.
    if path.is_dir():
        return _from_folder(path, format), path
    if path.exists():
        return [path], path.parent
    if glob.has_magic(text):
        return _from_glob(path, format)
    raise DataError(_missing(path))


def _from_list(
    sources: Iterable[str | os.PathLike[str]], format: str | None
) -> tuple[list[Path], Path]:
    paths: list[Path] = []
    problems: list[str] = []
    for source in sources:
        if not isinstance(source, str | os.PathLike):
            raise DataError(
                f"a list of files holds {source!r} of type {type(source).__name__}; "
                "paths were expected"
            )
        if Path(source).expanduser().is_dir():
            problems.append(
                f"{source} is a folder where a file was expected; give the folder alone, "
                f"or the glob '{Path(source) / '**'}'"
            )
            continue
        try:
            paths += _from_text(source, format)[0]
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("; ".join(problems))
    if not paths:
        raise DataError("the list of files is empty")
    return paths, Path(os.path.commonpath([path.absolute().parent for path in paths]))


def _from_folder(folder: Path, format: str | None) -> list[Path]:
    _refuse_incomplete([folder])
    found = _walk(folder)
    data = [path for path in found if _wanted(path, format)]
    if not data and format is not None:
        # Files without a known suffix, as Hive writes them.
        data = [path for path in found if format_of(path) is None and not path.suffix]
    if data:
        return data
    if not found:
        raise DataError(f"folder {folder} holds no data files: it is empty")
    names = ", ".join(str(path.relative_to(folder)) for path in found[:5])
    more = "" if len(found) <= 5 else f" and {len(found) - 5} more"
    raise DataError(
        f"folder {folder} holds no data files; files that end in {_READABLE} were expected, "
        f"found {names}{more}. If they are data, say so with format=..."
    )


def _wanted(path: Path, format: str | None) -> bool:
    found = format_of(path)
    return found is not None and (format is None or found == format)


def _walk(folder: Path) -> list[Path]:
    found: list[Path] = []
    seen: set[str] = set()
    for current, folders, names in os.walk(folder, followlinks=True, onerror=_cannot_list):
        real = os.path.realpath(current)
        if real in seen:  # a link back to a folder above
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        found += [Path(current, name) for name in names if not name.startswith((".", "_"))]
    return sorted(found)


def _cannot_list(error: OSError) -> None:
    raise DataError(f"cannot list folder {error.filename}: {error.strerror}")


def _from_glob(pattern: Path, format: str | None) -> tuple[list[Path], Path]:
    root = pattern
    while glob.has_magic(str(root)):
        root = root.parent
    if not root.exists():
        raise DataError(f"nothing matches {pattern}: {_missing(root)}")
    explicit = any(part.startswith("_") for part in pattern.relative_to(root).parts)
    paths: list[Path] = []
    # glob, unlike Path.glob, leaves hidden names out.
    for match in sorted(glob.glob(str(pattern), recursive=True)):  # noqa: PTH207
        path = Path(match)
        parts = path.relative_to(root).parts
        if not explicit and any(part.startswith("_") for part in parts):
            continue
        if path.is_dir():
            paths += [inner for inner in _walk(path) if _wanted(inner, format)]
        else:
            paths.append(path)
    if "**" in pattern.parts[-1:]:  # everything below, so like a folder: only what is data
        paths = [path for path in paths if _wanted(path, format)]
    if not paths:
        raise DataError(f"nothing matches {pattern}")
    return paths, root


def _missing(path: Path) -> str:
    parent = path.parent
    if not parent.is_dir():
        return f"no file {path}: there is no folder {parent}"
    try:
        beside = [found.name for found in parent.iterdir()]
    except OSError:
        beside = []
    return f"no file {path}.{did_you_mean(path.name, beside)}"


def _common_format(paths: Sequence[Path], source: str) -> str:
    by_format: dict[str | None, list[Path]] = {}
    for path in paths:
        by_format.setdefault(format_of(path), []).append(path)
    unknown = by_format.pop(None, [])
    if unknown:
        path = unknown[0]
        if path.suffix.lower() in _PACKED:
            raise DataError(
                f"{path}: {path.suffix} files cannot be read; unpack it, or use .gz or .zst"
            )
        raise DataError(
            f"{path}: its name does not tell its format; it should end in {_READABLE}, "
            f"or give format= one of {', '.join(FORMATS)}"
        )
    if len(by_format) > 1:
        listed = "; ".join(
            f"{len(found)} {name} (such as {found[0]})" for name, found in by_format.items()
        )
        raise DataError(
            f"{source} holds files of several formats: {listed}. Choose one with format=..., "
            "or name the files"
        )
    (only,) = by_format
    assert only is not None
    return only


def _refuse_incomplete(folders: Iterable[Path]) -> None:
    for folder in sorted(set(folders)):
        if (folder / INCOMPLETE_MARKER).exists():
            raise DataError(
                f"folder {folder} is incomplete: writing it was interrupted, or goes on "
                f"({INCOMPLETE_MARKER} is there). Run what writes it again"
            )


def short_names(paths: Sequence[Path], root: Path) -> list[str]:
    """Return a distinct name for each file that is short and can name a file itself.

    File names without suffixes where these are distinct, else with the folders below ``root``,
    joined by ``__``; what is still the same gets its suffixes back.

    Examples
    --------
    >>> short_names([Path("d/a.csv"), Path("d/b.csv.gz")], Path("d"))
    ['a', 'b']
    >>> short_names([Path("d/1/a.csv"), Path("d/2/a.csv")], Path("d"))
    ['1__a', '2__a']
    """
    stems = [_stem(path.name).lstrip("._") or "file" for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    relative = [os.path.relpath(path, root) for path in paths]
    folders = [[part for part in Path(name).parts[:-1] if part != ".."] for name in relative]
    names = ["__".join([*parts, stem]) for parts, stem in zip(folders, stems, strict=True)]
    counts = Counter(names)
    for index, name in enumerate(names):
        if counts[name] > 1:
            names[index] = "__".join([*folders[index], paths[index].name.replace(".", "_")])
    taken: set[str] = set()
    for index, name in enumerate(names):
        number = 1
        while names[index] in taken:
            number += 1
            names[index] = f"{name}__{number}"
        taken.add(names[index])
    return names


def _stem(name: str) -> str:
    lowered = name.lower()
    for suffix in _SUFFIXES:
        for whole in (suffix, *(suffix + packed for packed in _COMPRESSED)):
            if lowered.endswith(whole) and len(name) > len(whole):
                return name[: -len(whole)]
    return name
