"""The seeded log generator: its planted truth can be found, and its bytes depend on the spec."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder

from merlinkit.data.synthetic import SyntheticSpec, generate, presets, synthetic_schema, write
from merlinkit.data.synthetic.draws import Draws, zipf_ranks
from merlinkit.errors import DataError, ParameterError
from merlinkit.schema import Schema

ROWS = 150_000
NULLABLE = ["age", "brand", "price", "tags", "dwell_time"]


def whole(spec: SyntheticSpec, chunk_rows: int = 65_536) -> pl.DataFrame:
    """Return the log as one frame."""
    return pl.concat(generate(spec, chunk_rows=chunk_rows))


@pytest.fixture(scope="module")
def spec() -> SyntheticSpec:
    """Return a spec of three blocks."""
    return SyntheticSpec(rows=ROWS, seed=11, true_probability=True)


@pytest.fixture(scope="module")
def frame(spec: SyntheticSpec) -> pl.DataFrame:
    """Return the log of the spec."""
    return whole(spec)


def auc(frame: pl.DataFrame, score: Any) -> float:
    """Return the area under the ROC curve of a score of the click."""
    return float(roc_auc_score(frame["click"].to_numpy(), score))


def number(value: object) -> float:
    """Return what a column was reduced to, as a number."""
    assert isinstance(value, int | float)
    return value


# -- random numbers ---------------------------------------------------------------------------


def splitmix64(state: int, count: int) -> list[int]:
    """Return numbers of SplitMix64, written with Python's own integers."""
    mask, out = 2**64 - 1, []
    for _ in range(count):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        out.append(z ^ (z >> 31))
    return out


def test_draws_are_splitmix64_at_a_position() -> None:
    # The published numbers for seed 0.
    assert splitmix64(0, 3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    key = int.from_bytes(hashlib.blake2b(b"5/price", digest_size=8).digest(), "little")
    expected = splitmix64(key, 1_000)
    assert Draws(5).bits("price", np.arange(1, 1_001)).tolist() == expected


def test_draws_have_the_moments_they_promise() -> None:
    draws, index = Draws(3), np.arange(200_000)
    # Five standard errors of mean and variance.
    for values, kurtosis in (
        (draws.normal("a", index), 3.0),
        (draws.centered("b", index), 1.8),
    ):
        assert abs(values.mean()) < 5 / math.sqrt(len(index))
        assert abs(values.var() - 1) < 5 * math.sqrt((kurtosis - 1) / len(index))
    streams = np.corrcoef([draws.uniform(name, index) for name in "abcd"])
    assert np.abs(streams - np.eye(4)).max() < 5 / math.sqrt(len(index))
    dice = np.bincount(draws.below("dice", index, 6), minlength=6) / len(index)
    assert np.abs(dice - 1 / 6).max() < 5 * math.sqrt(5 / 36 / len(index))


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0, 1.5, 5.0])
@pytest.mark.parametrize("count", [1, 7, 10_000_000])
def test_zipf_shares_follow_the_formula(count: int, exponent: float) -> None:
    uniform = (np.arange(100_000) + 0.5) / 100_000
    ranks = zipf_ranks(uniform, count, exponent)
    assert 0 <= ranks.min() <= ranks.max() <= count - 1

    def integral(end: float) -> float:
        if exponent == 1.0:
            return math.log(end)
        return (math.pow(end, 1 - exponent) - 1) / (1 - exponent)

    for rank in range(min(count, 3)):
        share = (integral(rank + 2) - integral(rank + 1)) / integral(count + 1)
        assert np.mean(ranks == rank) == pytest.approx(share, abs=2e-5)
    assert zipf_ranks(np.array([np.nextafter(1, 0)]), count, exponent)[0] <= count - 1


# -- the same spec gives the same log ---------------------------------------------------------


@pytest.mark.parametrize("chunk_rows", [777, 65_537, 10**9])
def test_rows_do_not_depend_on_the_chunks(
    spec: SyntheticSpec, frame: pl.DataFrame, chunk_rows: int
) -> None:
    chunks = list(generate(spec, chunk_rows=chunk_rows))
    assert [chunk.height for chunk in chunks[:-1]] == [chunk_rows] * (len(chunks) - 1)
    assert pl.concat(chunks).equals(frame)


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (65_535, 65_537), (70_000, ROWS), (9, 9)])
def test_a_range_of_rows_is_a_slice(
    spec: SyntheticSpec, frame: pl.DataFrame, start: int, stop: int
) -> None:
    chunks = list(generate(spec, chunk_rows=1_000, start=start, stop=stop))
    got = pl.concat([frame.clear(), *chunks])
    assert got.equals(frame[start:stop])


def test_files_do_not_change_the_rows(
    spec: SyntheticSpec, frame: pl.DataFrame, tmp_path: Path
) -> None:
    for files in (1, 3):
        paths = write(spec, tmp_path / str(files), files=files)
        assert [path.name for path in paths] == [f"part-{n:05d}.parquet" for n in range(files)]
        assert pl.concat([pl.read_parquet(path) for path in paths]).equals(frame)
        assert [pl.read_parquet(path).height for path in paths] == [ROWS // files] * files


def test_same_seed_same_bytes_and_other_seed_other_rows(tmp_path: Path) -> None:
    spec = SyntheticSpec(rows=20_000, seed=1)
    for kind in ("parquet", "csv", "jsonl"):
        first, second, third = (
            write(each, tmp_path / kind / name, kind)[0].read_bytes()
            for name, each in (("a", spec), ("b", spec), ("c", replace(spec, seed=2)))
        )
        assert first == second
        assert first != third
    one, other = whole(spec), whole(replace(spec, seed=2))
    for name in set(one.columns) - {"device", "click"}:
        same = (one[name] == other[name]).fill_null(False).mean()
        assert isinstance(same, float)
        assert same < 0.2, name


def test_true_probability_is_a_column_more_and_changes_no_other(
    spec: SyntheticSpec, frame: pl.DataFrame
) -> None:
    plain = whole(replace(spec, true_probability=False))
    assert frame.columns == [*plain.columns, "true_probability"]
    assert frame.drop("true_probability").equals(plain)
    assert SyntheticSpec().true_probability is False


# -- shape ------------------------------------------------------------------------------------


def test_columns_are_those_of_the_schema(spec: SyntheticSpec, frame: pl.DataFrame) -> None:
    schema = synthetic_schema(spec)
    assert frame.schema == schema.to_polars()
    assert schema.by_tag("user_id").names == ["user_id"]
    assert schema.by_tag("item_id").names == ["item_id"]
    assert schema["tags"].value_count == (0, 4)
    assert next(generate(SyntheticSpec(rows=1))).height == 1


def test_null_fractions(spec: SyntheticSpec, frame: pl.DataFrame) -> None:
    # Five standard errors, and a little for the repeated rows.
    margin = 5 * math.sqrt(0.05 * 0.95 / ROWS) * 1.1
    for name in frame.columns:
        share = frame[name].null_count() / ROWS
        assert share == pytest.approx(0.05 if name in NULLABLE else 0.0, abs=margin), name
    empty = (frame["brand"] == "").sum() / ROWS
    assert empty == pytest.approx(0.025 * 0.95, abs=margin)
    lists = frame["tags"].drop_nulls()
    later = lists.list.slice(1).explode(empty_as_null=False)
    assert later.null_count() / len(later) == pytest.approx(0.05, abs=0.005)
    assert lists.list.first().null_count() == (lists.list.len() == 0).sum() > 0
    known = (
        frame.lazy()
        .select("tags")
        .drop_nulls()
        .with_row_index()
        .explode("tags", empty_as_null=False)
    )
    known = known.drop_nulls()
    assert known.unique().collect().height == known.collect().height, "a tag twice in a list"
    none = whole(replace(spec, rows=5_000, null_fraction=0.0))
    assert sum(none.null_count().row(0)) == 0
    assert none["tags"].explode(empty_as_null=False).null_count() == 0


def test_duplicates_are_exact_and_near(spec: SyntheticSpec, frame: pl.DataFrame) -> None:
    repeated = ROWS - frame.n_unique()
    assert repeated / ROWS == pytest.approx(0.01, abs=5 * math.sqrt(0.01 / ROWS))
    key = ["user_id", "item_id", "timestamp", "last_visit_ms", "dwell_time"]
    numbered = frame.select(key).with_row_index("row")
    spread = numbered.group_by(key).agg(pl.len(), span=pl.col("row").max() - pl.col("row").min())
    twice = spread.filter(pl.col("len") == 2)
    assert twice.height > 1_000
    assert number(twice["span"].max()) <= 64 * 4  # at most a few steps of 64 rows back
    clean = whole(replace(spec, duplicate_fraction=0.0))
    assert clean.n_unique() == ROWS
    half = whole(replace(spec, rows=20_000, duplicate_fraction=0.5))
    assert half.n_unique() / 20_000 == pytest.approx(0.5, abs=0.02)


def test_popularity_has_a_head_like_zipf(frame: pl.DataFrame) -> None:
    counts = frame["item_id"].value_counts(sort=True)["count"].to_numpy()
    items = SyntheticSpec(rows=ROWS).num_items
    for rank in range(3):
        share = math.log((rank + 2) / (rank + 1)) / math.log(items + 1)
        assert counts[rank] / ROWS == pytest.approx(share, rel=0.05)
    users = frame["user_id"].value_counts(sort=True)["count"].to_numpy()
    share = (2**0.4 - 1) / (3_001**0.4 - 1)
    assert users[0] / ROWS == pytest.approx(share, rel=0.1)
    cities = frame["city"].value_counts(sort=True)["count"].to_numpy()
    assert cities[0] > 3 * cities[5]
    even = whole(SyntheticSpec(rows=50_000, users=10, items=10, user_zipf=0, item_zipf=0))
    for name in ("user_id", "item_id"):
        counts = even[name].value_counts()["count"].to_numpy()
        assert np.abs(counts / 5_000 - 1).max() < 0.1


def test_ids_are_wide_and_do_not_tell_popularity(frame: pl.DataFrame) -> None:
    assert number(frame["user_id"].min()) >= 10_000_000_000
    assert frame["user_id"].n_unique() <= 3_000
    assert frame["item_id"].str.contains(r"^i_\d{6}$").all()
    top = frame["item_id"].value_counts(sort=True)["item_id"].head(20).to_list()
    assert top != sorted(top)
    assert top != sorted(top, reverse=True)


def test_users_and_items_have_fixed_properties(frame: pl.DataFrame) -> None:
    per_user = frame.drop_nulls("age").group_by("user_id").agg(pl.col("age", "city").n_unique())
    assert per_user.select(pl.col("age", "city").max()).row(0) == (1, 1)
    known = frame.filter(pl.col("brand").is_not_null() & (pl.col("brand") != ""))
    assert known.group_by("item_id").agg(pl.col("brand").n_unique())["brand"].max() == 1
    logs = frame.drop_nulls("price").with_columns(pl.col("price").log())
    within = logs.group_by("item_id").agg(pl.col("price").std()).drop_nulls()["price"].median()
    assert within == pytest.approx(0.1, abs=0.02)
    assert number(logs["price"].std()) > 0.7
    assert number(frame["age"].min()) >= 14
    assert number(frame["age"].max()) <= 90


def test_time_rises_with_jitter_and_a_daily_rhythm(frame: pl.DataFrame) -> None:
    time = frame["timestamp"]
    assert (time >= datetime(2026, 1, 1)).all()
    assert (time < datetime(2026, 1, 15)).all()
    assert time.dt.date().n_unique() == 14
    assert not time.is_sorted()
    means = [time[start : start + 10_000].mean() for start in range(0, ROWS, 10_000)]
    assert means == sorted(means)  # type: ignore[type-var]
    hours = dict(time.dt.hour().value_counts().iter_rows())
    # Densest at 20:00 and sparsest at 08:00, by (1 + 0.7) / (1 - 0.7) at the very peak.
    assert sorted(hours, key=hours.__getitem__)[-2:] in ([19, 20], [20, 19])
    assert 4 < (hours[19] + hours[20]) / (hours[7] + hours[8]) < 5.7
    gap = time.dt.timestamp("ms") - frame["last_visit_ms"]
    assert number(gap.min()) >= 1
    assert gap.mean() == pytest.approx(3 * 86_400_000, rel=0.02)


def test_one_row_one_user_one_item() -> None:
    spec = SyntheticSpec(rows=1, users=1, items=1, days=1, latent_dim=1, duplicate_fraction=0.5)
    assert whole(spec).row(0)[:2] == (10_000_000_000, "i_000000")
    many = whole(SyntheticSpec(rows=1_000, users=10**9, items=10**9))
    assert many["user_id"].n_unique() > 900
    assert many["item_id"].str.len_chars().unique().to_list() == [11]


# -- the planted truth ------------------------------------------------------------------------


def test_clicks_follow_the_true_probability(frame: pl.DataFrame) -> None:
    bins = (pl.col("true_probability") * 10).floor().alias("bin")
    binned = frame.group_by(bins).agg(pl.len(), pl.col("click", "true_probability").mean())
    assert binned.height == 10
    for _, count, found, expected in binned.iter_rows():
        error = math.sqrt(expected * (1 - expected) / count)
        assert abs(found - expected) < 5 * error


def test_preferences_can_be_learned_but_not_from_popularity() -> None:
    spec = SyntheticSpec(
        rows=80_000, users=60, items=40, seed=5, drift=0.0, item_zipf=0.5, true_probability=True
    )
    frame = whole(spec)
    train, test = frame[:60_000], frame[60_000:]
    oracle = auc(test, test["true_probability"].to_numpy())
    ids = ["user_id", "item_id"]
    counts = train.group_by("item_id").len("popularity")
    popularity = auc(
        test, test.join(counts, on="item_id", maintain_order="left")["popularity"].to_numpy()
    )
    encoder = OneHotEncoder()
    features = encoder.fit_transform(train.select(ids).to_numpy())
    linear = LogisticRegression(max_iter=200).fit(features, train["click"].to_numpy())
    one_hot = auc(test, linear.decision_function(encoder.transform(test.select(ids).to_numpy())))
    pairs = train.group_by(ids).agg(rate=(pl.col("click").sum() + 0.5) / (pl.len() + 2))
    rates = test.join(pairs, on=ids, how="left", maintain_order="left")["rate"].fill_null(0.25)
    memory = auc(test, rates.to_numpy())
    # Popularity tells something, users and items alone more; who likes what tells most of it.
    assert 0.5 < popularity < one_hot < memory < oracle
    assert oracle > 0.78
    assert popularity < 0.65
    assert memory > one_hot + 0.08


def with_logit(spec: SyntheticSpec) -> pl.DataFrame:
    """Return the log with the logit of the true probability."""
    logit = (pl.col("true_probability") / (1 - pl.col("true_probability"))).log()
    return whole(replace(spec, true_probability=True)).with_columns(logit=logit)


def test_price_and_brand_move_an_item_for_all_users() -> None:
    spec = SyntheticSpec(
        rows=60_000, users=2_000, items=200, seed=4, drift=0, item_zipf=0, null_fraction=0
    )
    items = (
        with_logit(spec)
        .group_by("item_id")
        .agg(pl.col("logit").mean(), pl.col("price").log().mean(), pl.col("brand").first())
    )
    assert items["brand"].n_unique() > 3
    price, logit = items["price"].to_numpy(), items["logit"].to_numpy()
    assert np.corrcoef(price, logit)[0, 1] < -0.3
    slope, level = np.polyfit(price, logit, 1)
    rest = items.with_columns(rest=pl.Series(logit - slope * price - level))
    # Without an effect of the brand, ten brands explain about 5 % of the variance of 200 items.
    between = rest.select(pl.col("rest").mean().over("brand").var() / pl.col("rest").var()).item()
    assert between > 0.4


def test_users_like_items_with_the_same_tag_alike() -> None:
    spec = SyntheticSpec(
        rows=90_000, users=30, items=600, seed=6, drift=0, item_zipf=0, user_zipf=0, null_fraction=0
    )
    single = with_logit(spec).filter(pl.col("tags").list.len() == 1)
    means = single.group_by("user_id", "item_id").agg(pl.col("logit").first())
    table = means.sort("user_id", "item_id").pivot("user_id", index="item_id", values="logit")
    tag_of = dict(single.select("item_id", pl.col("tags").list.first()).unique().iter_rows())
    tags = np.array([tag_of[item] for item in table["item_id"]])
    assert len(tags) > 80
    likes = table.drop("item_id").to_numpy()
    likes = np.where(np.isnan(likes), np.nanmean(likes, axis=1, keepdims=True), likes)
    alike = np.corrcoef(likes)[np.triu_indices(len(tags), k=1)]
    same = np.equal.outer(tags, tags)[np.triu_indices(len(tags), k=1)]
    assert same.sum() > 200
    # Tags have 0.8 ** 2 of the 0.8 ** 2 + 1.3 ** 2 of variance between users: 0.27.
    assert alike[same].mean() == pytest.approx(0.27, abs=0.1)
    assert alike[~same].mean() == pytest.approx(0.0, abs=0.1)


def pair_logits(drift: float) -> pl.DataFrame:
    """Return the mean logit of each pair of user and item, early and late in the log."""
    spec = SyntheticSpec(rows=60_000, users=30, items=30, seed=2, drift=drift, item_zipf=0.3)
    frame = with_logit(spec)
    early, late = (
        part.group_by("user_id", "item_id").agg(pl.col("logit").mean())
        for part in (frame.head(6_000), frame.tail(6_000))
    )
    return early.join(late, on=["user_id", "item_id"], suffix="_late")


def test_preferences_drift_as_far_as_asked() -> None:
    still, little, much = (pair_logits(drift) for drift in (0.0, 0.3, 1.0))
    assert still.height > 800
    assert number((still["logit"] - still["logit_late"]).abs().max()) < 1e-9
    near, far = (pairs.select(pl.corr("logit", "logit_late")).item() for pairs in (little, much))
    assert near > 0.8
    assert far < 0.6
    # They turn into others of the same strength; they do not fade away.
    for pairs in (little, much):
        fading = number(pairs["logit_late"].std()) / number(pairs["logit"].std())
        assert 0.8 < fading < 1.25


def test_clicks_become_more_frequent_with_drift(spec: SyntheticSpec) -> None:
    rates = []
    for drift in (0.0, 1.0):
        clicks = whole(replace(spec, drift=drift, duplicate_fraction=0.0))["click"]
        rates.append((number(clicks.head(30_000).mean()), number(clicks.tail(30_000).mean())))
    (first, last), (early, late) = rates
    assert late > early + 0.1
    assert abs(last - first) < 0.02


def test_label_noise_turns_labels_around(spec: SyntheticSpec, frame: pl.DataFrame) -> None:
    noisy = whole(replace(spec, label_noise=0.2))
    clean = frame["true_probability"].to_numpy()
    assert np.allclose(noisy["true_probability"].to_numpy(), 0.8 * clean + 0.2 * (1 - clean))
    assert auc(noisy, clean) < auc(frame, clean) - 0.05
    nothing = whole(replace(spec, label_noise=0.5))
    assert (nothing["true_probability"] == 0.5).all()
    assert auc(nothing, clean) == pytest.approx(0.5, abs=0.01)


def test_dwell_time_depends_on_click_and_affinity(frame: pl.DataFrame) -> None:
    known = frame.drop_nulls("dwell_time").with_columns(pl.col("dwell_time").log())
    clicked, passed = (known.filter(pl.col("click") == value) for value in (1, 0))
    assert number(clicked["dwell_time"].mean()) > number(passed["dwell_time"].mean()) + 0.8
    for part in (clicked, passed):
        assert part.select(pl.corr("dwell_time", "true_probability")).item() > 0.4


# -- files ------------------------------------------------------------------------------------


def test_parquet_has_its_schema_beside(spec: SyntheticSpec, tmp_path: Path) -> None:
    paths = write(spec, tmp_path / "new" / "log")
    assert Schema.load(paths[0].parent / "schema.json") == synthetic_schema(spec)
    assert sorted(file.name for file in paths[0].parent.iterdir()) == [
        *("_synthetic.json", "part-00000.parquet", "schema.json"),
    ]


def test_csv_has_the_rows_of_parquet(spec: SyntheticSpec, tmp_path: Path) -> None:
    small = replace(spec, rows=70_000)
    frame = whole(small)
    paths = write(small, tmp_path, "csv", files=2)
    dtypes: dict[str, Any] = {**frame.schema, "tags": pl.String}
    got = pl.concat([pl.read_csv(path, schema=dtypes) for path in paths])
    assert got.drop("tags").equals(frame.drop("tags"))
    lists = [
        None if text is None else [tag or None for tag in text.split("|")] if text else []
        for text in got["tags"]
    ]
    assert lists == frame["tags"].to_list()
    assert None in lists
    assert [] in lists
    assert any(None in tags for tags in lists if tags)
    # Read by another library, names with quotes, commas and non-ASCII letters stay whole.
    with paths[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["brand"] for row in rows] == frame["brand"].fill_null("").to_list()[:35_000]
    assert 'Größe, "brand_0003" & Söhne' in {row["brand"] for row in rows}


def test_jsonl_has_the_rows_of_parquet(spec: SyntheticSpec, tmp_path: Path) -> None:
    small = replace(spec, rows=70_000)
    frame = whole(small)
    paths = write(small, tmp_path, "jsonl", files=2)
    # Polars reads no Int8 from JSON.
    dtypes: dict[str, Any] = {**frame.schema, "click": pl.Int32}
    got = pl.concat([pl.read_ndjson(path, schema=dtypes) for path in paths])
    assert got.cast({"click": pl.Int8}).equals(frame)
    with paths[1].open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    assert [row["tags"] for row in rows] == frame["tags"].to_list()[35_000:]
    assert [row["price"] for row in rows] == frame["price"].to_list()[35_000:]


def test_finished_files_are_kept_when_continued(tmp_path: Path) -> None:
    spec = SyntheticSpec(rows=3_000, files=3)
    paths = write(spec, tmp_path)
    content = [path.read_bytes() for path in paths]
    paths[1].unlink()
    for path in (paths[0], paths[2]):
        os.utime(path, (1_000, 1_000))
    assert write(spec, tmp_path) == paths
    assert [path.read_bytes() for path in paths] == content
    assert [path.stat().st_mtime for path in paths if path != paths[1]] == [1_000, 1_000]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_killed_write_leaves_no_half_file(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SyntheticSpec(rows=200_000, files=2)

    class Killed(BaseException):
        pass

    def killed(each: SyntheticSpec, *, start: int, stop: int) -> Iterator[pl.DataFrame]:
        for chunk in generate(each, start=start, stop=stop):
            yield chunk
            if start:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(presets, "generate", killed)
        with pytest.raises((Killed, pl.exceptions.ComputeError), match=r"Killed|^$"):
            write(spec, tmp_path, kind)
    parts = sorted(file.name for file in tmp_path.iterdir() if "part" in file.name)
    assert parts == [f"part-00000.{kind}"]
    assert len(write(spec, tmp_path, kind)) == 2


def test_processes_share_or_repeat_the_work(tmp_path: Path) -> None:
    spec = SyntheticSpec(rows=40_000, files=4)
    expected = [path.read_bytes() for path in write(spec, tmp_path / "alone")]
    assert [path.name for path in write(spec, tmp_path / "shared", only=[3, 1])] == [
        *("part-00001.parquet", "part-00003.parquet"),
    ]
    assert len(write(spec, tmp_path / "shared", only=range(4))) == 4
    code = (
        "from merlinkit.data.synthetic import SyntheticSpec, write\n"
        f"write(SyntheticSpec(rows=40_000, files=4), {str(tmp_path / 'raced')!r})"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    for name in ("shared", "raced"):
        files = sorted((tmp_path / name).glob("part-*"))
        assert [path.read_bytes() for path in files] == expected
        assert not list((tmp_path / name).glob(".*"))


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    spec = SyntheticSpec(rows=1_000)
    write(spec, tmp_path / "log")
    with pytest.raises(DataError, match="holds another synthetic log") as caught:
        write(replace(spec, seed=9, drift=0.5), tmp_path / "log")
    assert "seed 0 there, 9 asked for; drift 0.3 there, 0.5 asked for" in str(caught.value)
    with pytest.raises(DataError, match="format 'parquet' there, 'csv' asked for"):
        write(spec, tmp_path / "log", "csv")
    with pytest.raises(DataError, match="files 1 there, 2 asked for"):
        write(spec, tmp_path / "log", files=2)
    # The same sizes, spelled out, are the same spec.
    write(replace(spec, users=20, items=spec.num_items), tmp_path / "log")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(DataError, match=r"not empty \(it has thesis.txt\)"):
        write(spec, tmp_path / "mine")
    (tmp_path / "log" / "_synthetic.json").write_text("{")
    with pytest.raises(DataError, match="not valid JSON"):
        write(spec, tmp_path / "log")
    with pytest.raises(DataError, match="cannot write the log to"):
        write(spec, tmp_path / "mine" / "thesis.txt")


def test_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from merlinkit.data.synthetic import SyntheticSpec, write\n"
        "from merlinkit.errors import DataError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "for kind in ('parquet', 'csv', 'jsonl'):\n"
        f"    folder = {str(tmp_path)!r} + '/' + kind\n"
        "    try:\n"
        "        write(SyntheticSpec(rows=50_000), folder, kind)\n"
        "    except DataError as error:\n"
        "        print(str(error).startswith('cannot write the log to ' + folder))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 3
    left = {file.name for folder in tmp_path.iterdir() for file in folder.iterdir()}
    assert left == {"_synthetic.json", "schema.json"}


def peak_mib(rows: int, folder: Path, kind: str) -> float:
    """Return the peak memory of a process that writes so many rows."""
    code = (
        "from pathlib import Path\n"
        "from merlinkit.data.synthetic import SyntheticSpec, write\n"
        f"write(SyntheticSpec(rows={rows}, files=1, latent_dim=1), {str(folder)!r}, {kind!r})\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(status.split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, kind: str) -> None:
    small = peak_mib(200_000, tmp_path / "small", kind)
    large = peak_mib(1_000_000, tmp_path / "large", kind)
    # The 800,000 rows between them take 80 MiB as a frame and 110 MiB as CSV.
    assert large - small < 40


# -- wrong parameters -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": 0}, "rows=0 is not within 1 and"),
        ({"rows": 10.0}, "rows=10.0 is not a whole number"),
        ({"rows": True}, "rows=True is not a whole number"),
        ({"users": 0}, "users=0 is not within"),
        ({"items": 2 * 10**9}, "items=2000000000 is not within"),
        ({"days": "7"}, "days='7' is not a whole number"),
        ({"latent_dim": 0}, "latent_dim=0"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": None}, "seed=None is not a whole number"),
        ({"null_fraction": 1.0}, "null_fraction=1.0 is not within 0.0 and 0.9"),
        ({"duplicate_fraction": 0.6}, "duplicate_fraction=0.6"),
        ({"user_zipf": math.nan}, "user_zipf=nan"),
        ({"item_zipf": math.inf}, "item_zipf=inf"),
        ({"drift": -0.1}, "drift=-0.1"),
        ({"drift": "much"}, "drift='much' is not a number"),
        ({"label_noise": 0.51}, "label_noise=0.51"),
        ({"bias": 21}, "bias=21"),
        ({"files": 0}, "files=0"),
        ({"rows": 3, "files": 4}, "files=4 is more than rows=3"),
        ({"start": "01.02.2026"}, "start='01.02.2026' is not a date such as 2026-01-31"),
        ({"start": "1066-10-14"}, "in the years 1971 to 2200"),
        ({"true_probability": "yes"}, "true_probability='yes' is not true or false"),
    ],
)
def test_wrong_spec(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        SyntheticSpec(**wrong)
    assert message in str(caught.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ParameterError) as caught:
        SyntheticSpec(rows=0, drift=2, start="soon")
    assert str(caught.value).count("; ") == 2


def test_whole_numbers_are_fine_for_fractions() -> None:
    spec = SyntheticSpec(drift=1, label_noise=0)
    assert spec == SyntheticSpec(drift=1.0, label_noise=0.0)
    assert repr(spec.drift) == "1.0"


def test_wrong_arguments(tmp_path: Path) -> None:
    spec = SyntheticSpec(rows=10)
    with pytest.raises(ParameterError, match=r"chunk_rows=0"):
        generate(spec, chunk_rows=0)
    with pytest.raises(ParameterError, match="rows 5 to 11 are not within the log of 10 rows"):
        generate(spec, start=5, stop=11)
    with pytest.raises(ParameterError, match="Did you mean 'parquet'"):
        write(spec, tmp_path, "parket")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="files=11"):
        write(spec, tmp_path, files=11)
    with pytest.raises(ParameterError, match="only=2 is not within 0 and 1"):
        write(spec, tmp_path, files=2, only=[2])
    assert list(tmp_path.iterdir()) == []
