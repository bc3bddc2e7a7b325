"""The trainer with batches from parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from merlinkit.errors import ArtifactError
from merlinkit.events import EventLog, read_events
from merlinkit.loader import Loader
from merlinkit.training import BatchLoader


@pytest.fixture
def data(toy: Any, tmp_path: Path) -> Path:
    """Return a folder of three files with the columns of the schema."""
    folder = tmp_path / "data"
    folder.mkdir()
    for part in range(3):
        rows = toy.rows(150, seed=part)
        frame = pl.DataFrame(
            {
                name: value.to_lists() if name == "seen" else value.numpy()
                for name, value in rows.items()
            },
            schema_overrides={"seen": pl.List(pl.Int64)},
        )
        frame.write_parquet(folder / f"part-{part}.parquet", row_group_size=40)
    return folder


def loaders(toy: Any, data: Path, buffer_rows: int) -> tuple[BatchLoader, BatchLoader]:
    common = {"path": data, "schema": toy.schema, "buffer_rows": buffer_rows, "seed": 3}
    return (
        Loader(**common, batch_size=32, shuffle=True),
        Loader(**common, batch_size=100, shuffle=False),
    )


@pytest.mark.parametrize("buffer_rows", [200, 10_000])
def test_resumed_in_the_middle_of_an_epoch(
    toy: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buffer_rows: int
) -> None:
    def fit(name: str, *, resume: bool = False) -> Any:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        train, valid = loaders(toy, data, buffer_rows)
        with EventLog(folder / "events.jsonl") as events:
            trainer = toy.trainer(epochs=3, validate_every=4)
            return trainer.fit(toy.model(dropout=0.1), train, valid, folder, events, resume=resume)

    def losses(name: str) -> dict[Any, Any]:
        events = read_events(tmp_path / name / "events.jsonl", kind="train")
        return {event["step"]: event["loss"] for event in events}

    whole = fit("whole")
    # 450 rows in batches of 32 are 15 steps an epoch; the checkpoint at step 20 is 5 steps
    # into the second epoch.
    count = 0

    def stop(*_: Any) -> None:
        nonlocal count
        count += 1
        if count == 23:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("merlinkit.training.loop.Loop._check", stop)
        with pytest.raises(KeyboardInterrupt):
            fit("cut")
    resumed = fit("cut", resume=True)
    assert read_events(tmp_path / "cut" / "events.jsonl", kind="resume")[0]["step"] == 20
    assert resumed.history == whole.history and resumed.steps == 45
    assert losses("cut") == losses("whole")


def test_resuming_on_other_data_is_refused(toy: Any, data: Path, tmp_path: Path) -> None:
    train, valid = loaders(toy, data, 10_000)
    toy.trainer().fit(toy.model(), train, valid, tmp_path / "run")
    (data / "part-2.parquet").unlink()
    train, valid = loaders(toy, data, 10_000)
    with pytest.raises(ArtifactError, match="number of files 3 then, 2 now"):
        toy.trainer(epochs=2).fit(toy.model(), train, valid, tmp_path / "run", resume=True)


def test_predictions_are_in_the_order_of_the_data(toy: Any, data: Path) -> None:
    _, loader = loaders(toy, data, 200)
    predictions = toy.trainer().predict(toy.model(), loader)
    frame = pl.concat(pl.read_parquet(data / f"part-{part}.parquet") for part in range(3))
    assert predictions.labels is not None
    assert predictions.labels.tolist() == frame["click"].to_list()
    assert predictions.scores.shape == (450,)
