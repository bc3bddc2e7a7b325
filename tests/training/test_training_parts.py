"""The small parts: schedule, early stopping, losses, progress, TensorBoard, diagnosis."""

from __future__ import annotations

import builtins
import io
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from merlinkit.errors import ConfigError
from merlinkit.training.early_stopping import EarlyStopping
from merlinkit.training.losses import LossWindow, NonFiniteLoss
from merlinkit.training.progress import LineProgress, NoProgress, RichProgress, progress_for
from merlinkit.training.schedule import step_scale


@pytest.mark.parametrize(
    ("schedule", "warmup", "expected"),
    [
        ("constant", 0, [1, 1, 1, 1, 1]),
        ("constant", 4, [0.25, 0.5, 0.75, 1, 1]),
        ("linear", 0, [1, 0.8, 0.6, 0.4, 0.2]),
        ("linear", 1, [1, 1, 0.75, 0.5, 0.25]),
        ("cosine", 1, [1, 1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]),
        # A warm-up longer than the training never gets to the end.
        ("linear", 10, [0.1, 0.2, 0.3, 0.4, 0.5]),
    ],
)
def test_schedule_of_five_steps(schedule: Any, warmup: int, expected: list[float]) -> None:
    found = [
        step_scale(step, schedule=schedule, warmup_steps=warmup, total_steps=5) for step in range(5)
    ]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_schedule_past_its_end_stays_at_zero(schedule: Any) -> None:
    for step in (5, 6, 100):
        assert step_scale(step, schedule=schedule, warmup_steps=0, total_steps=5) == 0
    assert step_scale(3, schedule=schedule, warmup_steps=3, total_steps=3) == 1


def test_early_stopping_of_a_falling_metric() -> None:
    stopping = EarlyStopping("min", patience=2, min_delta=0.1)
    assert [stopping.update(v) for v in (1.0, 0.95, 0.8, None)] == [True, False, True, False]
    assert not stopping.should_stop
    assert not stopping.update(float("nan"))
    assert stopping.should_stop and stopping.best == 0.8
    assert stopping.update(0.5) and not stopping.should_stop


def test_without_patience_nothing_stops() -> None:
    stopping = EarlyStopping("max")
    assert [stopping.update(0.5) for _ in range(50)] == [True] + [False] * 49
    assert not stopping.should_stop


def test_losses_are_read_together() -> None:
    window = LossWindow([1.0])
    window.add(torch.tensor(2.0, requires_grad=True))
    window.add(torch.tensor(6.0))
    assert len(window) == 3 and window.mean() == 3.0 and window.values == [1.0, 2.0, 6.0]
    window.clear()
    assert len(window) == 0


def test_the_first_loss_that_is_not_finite_is_found() -> None:
    window = LossWindow()
    for value in (1.0, float("inf"), float("nan"), 2.0):
        window.add(torch.tensor(value))
    with pytest.raises(NonFiniteLoss) as caught:
        window.mean()
    assert (caught.value.steps_ago, caught.value.value) == (2, math.inf)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_by_where_it_is_shown() -> None:
    assert isinstance(progress_for(shown=True, epochs=1, stream=io.StringIO()), LineProgress)
    assert isinstance(progress_for(shown=True, epochs=1, stream=Terminal()), RichProgress)
    assert type(progress_for(shown=False, epochs=1, stream=Terminal())) is NoProgress


def test_one_line_an_epoch_in_a_log() -> None:
    stream = io.StringIO()
    progress = progress_for(shown=True, epochs=2, stream=stream)
    progress.start(done=0, total=10)
    progress.step(5)
    progress.train(loss=0.7, rate=12345.6)
    progress.epoch(1, 0.6, {"auc": 0.75, "logloss": None})
    progress.close()
    assert stream.getvalue() == "epoch 1/2: loss 0.60000, valid auc 0.75000, 12,346 samples/s\n"


def test_a_bar_on_a_terminal() -> None:
    stream = Terminal()
    progress = progress_for(shown=True, epochs=2, stream=stream)
    progress.start(done=2, total=10)
    progress.train(loss=0.71234, rate=12345.6)
    progress.step(5)
    progress.epoch(1, 0.6, {})
    progress.close()
    progress.close()
    shown = stream.getvalue()
    for part in ("5/10", "loss 0.71234", "12,346 samples/s", "epoch 1/2: loss 0.60000"):
        assert part in shown


def test_training_shows_a_line_an_epoch(
    toy: Any, run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy.trainer(epochs=2, progress=True).fit(
        toy.model(), toy.train_loader(), toy.valid_loader(), run_dir
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert all("valid auc 0." in line and "samples/s" in line for line in lines)


def scalars(folder: Path) -> dict[str, list[int]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    return {
        name: [event.step for event in accumulator.Scalars(name)]
        for name in accumulator.Tags()["scalars"]
    }


def test_tensorboard_has_what_the_event_log_has(toy: Any, run_dir: Path) -> None:
    toy.trainer(tensorboard=True).fit(toy.model(), toy.train_loader(), toy.valid_loader(), run_dir)
    found = scalars(run_dir / "tensorboard")
    assert found["train/loss"] == found["train/lr"] == [5, 10, 13]
    assert found["valid/auc"] == found["valid/logloss"] == [13]
    assert {path.name for path in run_dir.iterdir()} == {"tensorboard", "checkpoints"}


def test_tensorboard_of_a_resumed_training_has_each_step_once(toy: Any, run_dir: Path) -> None:
    loader = toy.train_loader()

    def stop(epoch: int, batch: int) -> None:
        if (epoch, batch) == (1, 8):
            raise KeyboardInterrupt

    loader.before_batch = stop
    with pytest.raises(KeyboardInterrupt):
        toy.trainer(epochs=2, tensorboard=True).fit(toy.model(), loader, None, run_dir)
    toy.trainer(epochs=2, tensorboard=True).fit(
        toy.model(), toy.train_loader(), None, run_dir, resume=True
    )
    assert scalars(run_dir / "tensorboard")["train/loss"] == [5, 10, 13, 15, 20, 25, 26]


def test_tensorboard_that_is_not_installed(
    toy: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if "tensorboard" in name]:
        if not name.startswith("merlinkit"):
            monkeypatch.delitem(sys.modules, name)
    original = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith(("tensorboard", "torch.utils.tensorboard")):
            raise ModuleNotFoundError("No module named 'tensorboard'")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install tensorboard.*trainer\.tensorboard=false"):
        toy.trainer(tensorboard=True).fit(toy.model(), toy.train_loader(), None, run_dir)
    toy.trainer(tensorboard=False).fit(toy.model(), toy.train_loader(), None, run_dir)
