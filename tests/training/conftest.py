"""A loader in memory, data with something to learn, and a way to train on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from merlinkit.loader import Batch, Ragged
from merlinkit.models import build_model
from merlinkit.schema import Column, Domain, Schema
from merlinkit.training import Trainer, TrainerConfig

PADDED = {"padding_id": 0}

SCHEMA = Schema(
    [
        Column("user", "Int64", domain=Domain(0, 20), tags=["categorical"], properties=PADDED),
        Column(
            "item",
            "Int64",
            domain=Domain(0, 30, name="item"),
            tags=["categorical"],
            properties=PADDED,
        ),
        Column(
            "seen",
            "List(Int64)",
            domain=Domain(0, 30, name="item"),
            tags=["categorical"],
            properties=PADDED,
        ),
        Column("price", "Float32", tags=["continuous"]),
        Column("click", "Int8", tags=["target", "binary_classification"]),
    ]
)


class MemoryLoader:
    """Rows in memory, shuffled by seed and epoch; behaves as `merlinkit.loader.Loader` does."""

    def __init__(
        self, rows: Batch, batch_size: int, *, shuffle: bool = False, seed: int = 0
    ) -> None:
        self.rows = rows
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.given = 0
        self.before_batch: Callable[[int, int], None] = lambda epoch, batch: None

    @property
    def num_rows(self) -> int:
        first = next(iter(self.rows.values()))
        return first.num_rows if isinstance(first, Ragged) else first.shape[0]

    def __len__(self) -> int:
        return math.ceil(self.num_rows / self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        order = torch.arange(self.num_rows)
        if self.shuffle:
            generator = torch.Generator().manual_seed(self.seed * 1000 + self.epoch)
            order = torch.randperm(self.num_rows, generator=generator)
        for batch in range(self.given, len(self)):
            self.before_batch(self.epoch, batch)
            index = order[batch * self.batch_size : (batch + 1) * self.batch_size]
            self.given = batch + 1
            yield {
                name: value.select(index) if isinstance(value, Ragged) else value[index]
                for name, value in self.rows.items()
            }
        self.epoch, self.given = self.epoch + 1, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch, self.given = epoch, 0

    def state_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "given": self.given}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.epoch, self.given = state["epoch"], state["given"]


class Toy:
    """Makes what the tests of training need."""

    schema = SCHEMA

    @staticmethod
    def rows(count: int, seed: int = 0) -> Batch:
        """Return rows whose label depends on the user and on the price, with noise."""
        generator = torch.Generator().manual_seed(seed)
        user = torch.randint(1, 21, (count,), generator=generator)
        item = torch.randint(1, 31, (count,), generator=generator)
        price = torch.randn(count, generator=generator)
        lengths = torch.randint(0, 4, (count,), generator=generator)
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        seen = torch.randint(0, 31, (int(offsets[-1]),), generator=generator)
        logit = torch.where(user % 2 == 0, 2.0, -2.0) + price
        click = torch.rand(count, generator=generator) < torch.sigmoid(logit)
        return {
            "user": user,
            "item": item,
            "seen": Ragged(seen, offsets),
            "price": price,
            "click": click.to(torch.int8),
        }

    @classmethod
    def train_loader(cls, count: int = 400, batch_size: int = 32) -> MemoryLoader:
        """Return shuffled batches; 13 of them unless told otherwise."""
        return MemoryLoader(cls.rows(count, seed=1), batch_size, shuffle=True)

    @classmethod
    def valid_loader(cls, count: int = 300) -> MemoryLoader:
        """Return batches in order."""
        return MemoryLoader(cls.rows(count, seed=2), 128)

    @staticmethod
    def loader(rows: Batch, batch_size: int = 32) -> MemoryLoader:
        """Return batches of given rows in order."""
        return MemoryLoader(rows, batch_size)

    @staticmethod
    def config(**settings: Any) -> TrainerConfig:
        """Return quiet settings for small data."""
        quiet = {
            "device": "cpu",
            "progress": False,
            "tensorboard": False,
            "learning_rate": 0.01,
            "log_every_steps": 5,
        }
        return TrainerConfig(**{**quiet, **settings})

    @classmethod
    def trainer(cls, **settings: Any) -> Trainer:
        """Return a trainer with quiet settings."""
        return Trainer(cls.config(**settings), SCHEMA)

    @staticmethod
    def model(seed: int = 0, **params: Any) -> torch.nn.Module:
        """Return a small model; the same seed gives the same weights."""
        small = {"embedding_dim": 4, "bottom_mlp": [8], "top_mlp": [16]}
        return build_model("dlrm", {**small, **params}, SCHEMA, seed=seed)


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    """Keep small work on one thread, which is faster where other programs run."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def toy() -> type[Toy]:
    """Return the maker of small models, data and settings."""
    return Toy


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """Return a run directory."""
    folder = tmp_path / "run"
    folder.mkdir()
    return folder
