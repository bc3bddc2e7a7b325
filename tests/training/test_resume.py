"""A training that was interrupted and resumed is the one that was not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import merlinkit
from merlinkit.errors import ArtifactError
from merlinkit.events import EventLog, read_events
from merlinkit.training import TrainResult, load_model


class Stop(Exception):
    """Stands for whatever ends a run."""


def train(
    toy: Any,
    folder: Path,
    *,
    stop_at: tuple[int, int] | None = None,
    resume: bool = False,
    **settings: Any,
) -> tuple[TrainResult, dict[str, torch.Tensor]]:
    """Train a model with dropout, so that random numbers matter."""
    folder.mkdir(exist_ok=True)
    loader, model = toy.train_loader(), toy.model(dropout=0.2)

    def before_batch(epoch: int, batch: int) -> None:
        if (epoch, batch) == stop_at:
            raise Stop

    loader.before_batch = before_batch
    with EventLog(folder / "events.jsonl") as events:
        trainer = toy.trainer(**{"epochs": 3, "log_every_steps": 3, **settings})
        result = trainer.fit(model, loader, toy.valid_loader(), folder, events, resume=resume)
    return result, model.state_dict()


def curve(folder: Path) -> dict[Any, Any]:
    """Return losses and metrics by step; what was done again replaces what was there."""
    losses = {
        ("train", event["step"], event["epoch"]): (event["loss"], event["lr"])
        for event in read_events(folder / "events.jsonl", kind="train")
    }
    metrics = {
        ("valid", event["step"], event["epoch"]): event["metrics"]
        for event in read_events(folder / "events.jsonl", kind="valid")
    }
    return losses | metrics


@pytest.mark.parametrize(
    ("stop_at", "settings", "resumed_from"),
    [
        ((1, 0), {}, (13, 2)),
        ((1, 9), {}, (13, 2)),
        ((2, 12), {"optimizer": "adagrad"}, (26, 3)),
        ((1, 5), {"optimizer": "sgd", "schedule": "cosine", "warmup_steps": 4}, (13, 2)),
        ((1, 5), {"optimizer": "adamw", "weight_decay": 0.1, "gradient_clip": 0.1}, (13, 2)),
        # Every 5 steps: the last measurement before batch 9 of the second epoch is at step 20,
        # in the middle of an epoch and between two log lines.
        ((1, 9), {"validate_every": 5}, (20, 2)),
        ((1, 9), {"validate_every": 5, "log_every_steps": 7}, (20, 2)),
        # Nothing to go on from yet.
        ((0, 4), {}, None),
    ],
)
def test_same_curve_bit_for_bit(
    toy: Any,
    tmp_path: Path,
    stop_at: tuple[int, int],
    settings: dict[str, Any],
    resumed_from: tuple[int, int] | None,
) -> None:
    whole, weights = train(toy, tmp_path / "whole", **settings)
    with pytest.raises(Stop):
        train(toy, tmp_path / "cut", stop_at=stop_at, **settings)
    # The random state of the process is another one when a run goes on.
    torch.rand(100)
    resumed, resumed_weights = train(toy, tmp_path / "cut", resume=True, **settings)
    assert curve(tmp_path / "cut") == curve(tmp_path / "whole")
    assert resumed.history == whole.history and resumed.best == whole.best
    for name, value in weights.items():
        assert torch.equal(resumed_weights[name], value)
    events = read_events(tmp_path / "cut" / "events.jsonl", kind="resume")
    expected = [] if resumed_from is None else [resumed_from]
    assert [(event["step"], event["epoch"]) for event in events] == expected


def test_killed_without_warning(toy: Any, tmp_path: Path) -> None:
    code = f"""
import os, signal, sys, torch
sys.path.insert(0, {str(Path(__file__).parent)!r})
torch.set_num_threads(1)
from conftest import Toy
from merlinkit.events import EventLog
loader = Toy.train_loader()
def kill(epoch, batch):
    if (epoch, batch) == (1, 7):
        os.kill(os.getpid(), signal.SIGKILL)
loader.before_batch = kill
with EventLog({str(tmp_path / "cut" / "events.jsonl")!r}) as events:
    Toy.trainer(epochs=3, log_every_steps=3).fit(
        Toy.model(dropout=0.2), loader, Toy.valid_loader(), {str(tmp_path / "cut")!r}, events
    )
"""
    (tmp_path / "cut").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(Path(merlinkit.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == -9
    # What a kill in the middle of a line leaves.
    with (tmp_path / "cut" / "events.jsonl").open("a") as file:
        file.write('{"time": 1, "ki')
    train(toy, tmp_path / "cut", resume=True)
    train(toy, tmp_path / "whole")
    assert curve(tmp_path / "cut") == curve(tmp_path / "whole")


def test_more_epochs_on_top(toy: Any, tmp_path: Path) -> None:
    whole, _ = train(toy, tmp_path / "whole", epochs=3)
    train(toy, tmp_path / "cut", epochs=1)
    resumed, _ = train(toy, tmp_path / "cut", epochs=3, resume=True)
    assert resumed.history == whole.history


def test_a_finished_training_has_nothing_left_to_do(toy: Any, tmp_path: Path) -> None:
    first, weights = train(toy, tmp_path / "run")
    again, same = train(toy, tmp_path / "run", resume=True)
    assert again.history == first.history and again.seconds == 0
    for name, value in weights.items():
        assert torch.equal(same[name], value)


def test_load_model_gives_the_best_weights(toy: Any, tmp_path: Path) -> None:
    result, weights = train(toy, tmp_path / "run")
    model = toy.model(seed=9)
    state = load_model(model, tmp_path / "run")
    assert state["step"] == result.best.step
    for name, value in model.state_dict().items():
        assert torch.equal(weights[name], value)


def test_another_optimizer_cannot_go_on(toy: Any, tmp_path: Path) -> None:
    train(toy, tmp_path / "run", epochs=1)
    with pytest.raises(ArtifactError, match="optimizer 'adam', not 'sgd'; set it back"):
        train(toy, tmp_path / "run", resume=True, optimizer="sgd")


def test_another_model_cannot_go_on(toy: Any, tmp_path: Path) -> None:
    train(toy, tmp_path / "run", epochs=1)
    with pytest.raises(ArtifactError) as caught:
        toy.trainer().fit(
            toy.model(top_mlp=[16, 4]), toy.train_loader(), None, tmp_path / "run", resume=True
        )
    message = str(caught.value)
    assert "'top.layers.2.weight' is missing" in message
    assert "'top.layers.1.weight' has shape [1, 16], the model needs [4, 16]" in message
    assert "train anew" in message


def test_an_altered_checkpoint_is_refused(toy: Any, tmp_path: Path) -> None:
    result, _ = train(toy, tmp_path / "run", epochs=1)
    state = result.checkpoint / "state.json"
    data = json.loads(state.read_text())
    data["train"]["step"] = 1
    state.write_text(json.dumps(data, indent=2) + "\n")
    with pytest.raises(ArtifactError, match=r"state\.json is not as it was written"):
        train(toy, tmp_path / "run", resume=True)
