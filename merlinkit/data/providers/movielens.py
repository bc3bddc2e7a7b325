"""MovieLens 100k: 100,000 ratings of films, joined with what is known of users and films."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl

from merlinkit.atomic import atomic_file
from merlinkit.data.providers.cache import cache_root, is_complete, mark_complete
from merlinkit.data.providers.wheel import PinnedWheel
from merlinkit.errors import DataError
from merlinkit.schema import Column, Schema, Tags

__all__ = ["MOVIELENS_TERMS", "movielens_100k", "movielens_100k_schema"]

MOVIELENS_TERMS = """\
MovieLens 100k was collected by GroupLens Research at the University of Minnesota.
Its terms of use, in short: it is for research; commercial use, and use that earns revenue,
needs permission from GroupLens first; do not redistribute it without permission; do not suggest
that the University of Minnesota or GroupLens endorses your work; it comes without warranty.
Publications that use it cite: F. Maxwell Harper and Joseph A. Konstan. 2015. The MovieLens
Datasets: History and Context. ACM Transactions on Interactive Intelligent Systems 5, 4,
Article 19. https://doi.org/10.1145/2827872
"""

# The number goes up with every change of what is written, so an old cache is not taken for new.
_FOLDER = "movielens-100k-v1"
_FILES = ("ratings.parquet", "schema.json", "_TERMS.txt")
_INSIDE = "recbole/dataset_example/ml-100k/ml-100k"
_WHEEL = PinnedWheel(
    package="recbole",
    version="1.2.1",
    filename="recbole-1.2.1-py3-none-any.whl",
    members={
        f"{_INSIDE}.inter": "4edb74e2a81178c2ba9ff381495f754f996c4aea351b1272ca36b43da0935eff",
        f"{_INSIDE}.item": "51d7cdf777ce5c0f5b32c1d947a4a81fe07d75e78abbe761e0cd4d0756064532",
        f"{_INSIDE}.user": "4f670007d9cfbeb9807e757209af1555b9bcc186bde25e767f67cb67c6dd5972",
    },
)
_ROWS, _USERS, _ITEMS = 100_000, 943, 1_682
# All of them are one word, so the blanks of the source can only stand between genres.
_GENRES = frozenset(
    (
        *("Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary"),
        *("Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi"),
        *("Thriller", "War", "Western", "unknown"),
    )
)


def movielens_100k(cache: str | Path | None = None) -> Path:
    """Return a folder with MovieLens 100k as one parquet log, fetching it the first time.

    The folder holds ``ratings.parquet`` (one row a rating, in the order of the source, joined
    with user and film), ``schema.json``, ``_TERMS.txt`` and the marker ``_complete.json``. The data
    comes out of a wheel that pip downloads and that is not installed. A second call needs no
    network. A fetch that was killed, or a file that was altered, is repaired by the next call.
    Several processes may call it at once.

    Parameters
    ----------
    cache
        Cache folder; see `cache_root` for what None means.

    Returns
    -------
    Path
        The folder, below the cache folder.

    Raises
    ------
    DataError
        If pip is missing or cannot reach the index, a file is not the known one, or the cache
        cannot be written. The message says how to place the wheel by hand.

    Notes
    -----
    Columns are those of `movielens_100k_schema`. ``genres`` is one string such as
    ``"Animation|Children's|Comedy"``. Nulls: ``title`` and ``release_year`` of the film that the
    source calls "unkonwn". ``timestamp`` is UTC without a time zone, to the second. Harper and
    Konstan 2015, "The MovieLens Datasets: History and Context", describe the data; its terms of
    use are in `MOVIELENS_TERMS` and are printed to standard error when the cache is filled.
    """
    root = cache_root(cache)
    folder = root / _FOLDER
    if is_complete(folder, _FILES):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _say(f"MovieLens 100k: fetching {_WHEEL.requirement} (2 MB), which carries the data ...")
        files = _WHEEL.read(root)
        frame = _join(*(files[f"{_INSIDE}.{kind}"] for kind in ("inter", "user", "item")))
        with atomic_file(folder / "ratings.parquet") as temporary:
            frame.write_parquet(temporary)
        with atomic_file(folder / "schema.json") as temporary:
            described = json.dumps(movielens_100k_schema().to_dict(), indent=2)
            temporary.write_text(described + "\n", encoding="utf-8")
        with atomic_file(folder / "_TERMS.txt") as temporary:
            temporary.write_text(MOVIELENS_TERMS, encoding="utf-8")
        mark_complete(folder, _FILES)
    except OSError as error:
        raise DataError(
            f"cannot write the cache folder {folder}: {error.strerror or error}. Make it "
            "writable, or set MERLINKIT_CACHE to another folder."
        ) from error
    _say(f"MovieLens 100k: {_ROWS:,} ratings in {folder}\n\n{MOVIELENS_TERMS}")
    return folder


def movielens_100k_schema() -> Schema:
    """Return the schema of ``ratings.parquet``.

    No column is tagged as the target: whether to predict the rating or, say, ``rating >= 4`` is
    the task's choice.

    Examples
    --------
    >>> movielens_100k_schema().names[:5]
    ['user_id', 'item_id', 'rating', 'timestamp', 'age']
    """
    return Schema(
        [
            Column("user_id", "Int64", tags=[Tags.ID, Tags.USER, Tags.USER_ID]),
            Column("item_id", "Int64", tags=[Tags.ID, Tags.ITEM, Tags.ITEM_ID]),
            Column("rating", "Float32"),
            Column("timestamp", "Datetime(us)", tags=[Tags.TIME]),
            Column("age", "Int32", tags=[Tags.USER]),
            Column("gender", "String", tags=[Tags.USER]),
            Column("occupation", "String", tags=[Tags.USER]),
            Column("zip_code", "String", tags=[Tags.USER]),
            Column("title", "String", tags=[Tags.ITEM, Tags.TEXT]),
            Column("release_year", "Int32", tags=[Tags.ITEM]),
            Column("genres", "String", tags=[Tags.ITEM]),
        ]
    )


def _join(ratings: bytes, users: bytes, items: bytes) -> pl.DataFrame:
    """Return the three tables as one, refusing what is not the whole data set."""
    films = _films(_table(items, "item", ["item_id", "title", "release_year", "genres"]))
    people = _table(users, "user", ["user_id", "age", "gender", "occupation", "zip_code"])
    log = _table(ratings, "inter", ["user_id", "item_id", "rating", "timestamp"])
    seconds = pl.col("timestamp").cast(pl.Int64)
    try:
        frame = (
            log.join(people, on="user_id", how="inner", validate="m:1", maintain_order="left")
            .join(films, on="item_id", how="inner", validate="m:1", maintain_order="left")
            .with_columns(timestamp=pl.from_epoch(seconds, time_unit="s").cast(pl.Datetime("us")))
            .cast({"user_id": pl.Int64, "item_id": pl.Int64, "rating": pl.Float32, "age": pl.Int32})
            .select(movielens_100k_schema().names)
        )
    except (pl.exceptions.ComputeError, pl.exceptions.InvalidOperationError) as error:
        raise DataError(f"MovieLens 100k is damaged: {error}") from error
    problems = [
        f"{found:,} {what} found, {expected:,} expected"
        for what, found, expected in (
            ("ratings", frame.height, _ROWS),
            ("users", frame["user_id"].n_unique(), _USERS),
            ("films", frame["item_id"].n_unique(), _ITEMS),
            ("pairs of user and film", frame.select("user_id", "item_id").n_unique(), _ROWS),
            ("ratings of 1 to 5", frame["rating"].is_in([1.0, 2.0, 3.0, 4.0, 5.0]).sum(), _ROWS),
        )
        if found != expected
    ]
    if problems:
        raise DataError("MovieLens 100k is damaged: " + "; ".join(problems))
    return frame


def _table(content: bytes, kind: str, names: list[str]) -> pl.DataFrame:
    """Return a table of the wheel as strings; its header is checked by the number of columns."""
    try:
        # Quotes are part of film titles here, never a way to quote.
        table = pl.read_csv(content, separator="\t", quote_char=None, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"MovieLens 100k: table '{kind}' is not readable: {error}") from error
    if table.width != len(names):
        raise DataError(
            f"MovieLens 100k: table '{kind}' has {table.width} columns, expected {len(names)}"
        )
    table.columns = names
    return table


def _films(table: pl.DataFrame) -> pl.DataFrame:
    """Return the films with whole years, honest nulls and genres parted by ``|``."""
    found = set(table["genres"].str.split(" ").explode(empty_as_null=False))
    if unknown := sorted(str(genre) for genre in found - _GENRES):
        raise DataError(f"MovieLens 100k: unknown genre '{unknown[0]}' among the films")
    # One film has "V" (for video) as its year, and the year still at the end of its title.
    ending = r" \((\d{4})\)$"
    year = pl.col("release_year")
    return table.select(
        "item_id",
        title=pl.col("title").replace("unkonwn", None).str.replace(ending, ""),
        release_year=pl.when(year.str.contains(r"^\d{4}$"))
        .then(year)
        .otherwise(pl.col("title").str.extract(ending))
        .cast(pl.Int32),
        genres=pl.col("genres").str.replace_all(" ", "|", literal=True),
    )


def _say(text: str) -> None:
    """Tell the user; on standard error, so that standard output stays the program's own."""
    print(text, file=sys.stderr, flush=True)
