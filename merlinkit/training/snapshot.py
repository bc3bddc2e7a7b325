"""A training turned into a checkpoint, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from merlinkit.errors import ArtifactError
from merlinkit.training.batches import BatchLoader
from merlinkit.training.checkpoint import Checkpoint
from merlinkit.training.config import TrainerConfig
from merlinkit.training.optimizers import Optimizers
from merlinkit.training.state import TrainState
from merlinkit.training.weights import load_weights

__all__ = ["Snapshots"]

_OPTIMIZER = "optimizer/"
_RNG_CPU, _RNG_CUDA = "rng/cpu", "rng/cuda"


@dataclass(frozen=True, kw_only=True)
class Snapshots:
    """Takes checkpoints of the parts of a training and puts them back."""

    model: nn.Module
    optimizers: Optimizers
    loader: BatchLoader
    config: TrainerConfig
    target: str
    device: torch.device

    def take(self, state: TrainState) -> Checkpoint:
        """Return all that `restore` needs. Weights are not copied: write them before a step."""
        tensors, numbers = self.optimizers.state()
        training = {_OPTIMIZER + name: tensor for name, tensor in tensors.items()}
        training[_RNG_CPU] = torch.get_rng_state()
        if self.device.type == "cuda":
            training[_RNG_CUDA] = torch.cuda.get_rng_state(self.device)
        return Checkpoint(
            model=self.model.state_dict(),
            training=training,
            state={
                "step": state.step,
                "epoch": state.epoch,
                "target": self.target,
                "train": state.to_dict(),
                "optimizer": numbers,
                "loader": self.loader.state_dict(),
                "config": self.config.to_dict(),
            },
        )

    def restore(self, checkpoint: Checkpoint, source: Path) -> TrainState:
        """Put a checkpoint into the parts and return the state of the training.

        Raises
        ------
        ArtifactError
            If the checkpoint is of another optimizer, target, model or data.
        """
        saved = checkpoint.state
        for what, before, now in (
            ("optimizer", saved.get("config", {}).get("optimizer"), self.config.optimizer),
            ("target", saved.get("target"), self.target),
        ):
            if before != now:
                raise ArtifactError(
                    f"the checkpoint {source} was trained with {what} '{before}', not '{now}'; "
                    "set it back to go on, or train in another run directory"
                )
        try:
            state = TrainState.from_dict(saved["train"])
            numbers, place = saved["optimizer"], saved["loader"]
            random_state = checkpoint.training[_RNG_CPU]
        except KeyError as error:
            raise ArtifactError(f"the checkpoint {source} lacks {error}") from error
        load_weights(self.model, checkpoint.model, source)
        self.optimizers.load_state(
            {
                name.removeprefix(_OPTIMIZER): tensor
                for name, tensor in checkpoint.training.items()
                if name.startswith(_OPTIMIZER)
            },
            numbers,
        )
        self.loader.load_state_dict(place)
        torch.set_rng_state(random_state)
        if self.device.type == "cuda" and _RNG_CUDA in checkpoint.training:
            torch.cuda.set_rng_state(checkpoint.training[_RNG_CUDA], self.device)
        return state
