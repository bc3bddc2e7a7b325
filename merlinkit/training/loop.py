"""One training, from its first step or from a checkpoint to its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from merlinkit.errors import DataError, RunDirError
from merlinkit.events import EventLog
from merlinkit.loader import Batch
from merlinkit.training.batches import (
    BatchLoader,
    ChecksBatches,
    rows_of,
    scalar_column,
    to_device,
)
from merlinkit.training.checkpoint import CheckpointStore
from merlinkit.training.config import MONITORS, TrainerConfig
from merlinkit.training.diagnosis import TrainingDiverged, likely_causes
from merlinkit.training.early_stopping import EarlyStopping
from merlinkit.training.events import TrainingLog
from merlinkit.training.losses import LossWindow, NonFiniteLoss
from merlinkit.training.objective import Objective
from merlinkit.training.optimizers import Optimizers
from merlinkit.training.progress import Progress, progress_for
from merlinkit.training.result import Measurement, TrainResult
from merlinkit.training.schedule import step_scale
from merlinkit.training.snapshot import Snapshots
from merlinkit.training.state import TrainState
from merlinkit.training.throughput import Throughput
from merlinkit.training.weights import load_weights

__all__ = ["Loop"]

_log = logging.getLogger(__name__)

Evaluate = Callable[[nn.Module, Iterable[Batch]], Mapping[str, float | None]]


@dataclass(kw_only=True)
class Loop:
    """What `Trainer.fit` runs; its arguments are those of the trainer and of ``fit``."""

    config: TrainerConfig
    objective: Objective
    target: str
    monitor: str
    device: torch.device
    continuous: Sequence[str]
    model: nn.Module
    train_loader: BatchLoader
    valid_loader: BatchLoader | None
    evaluate: Evaluate
    run_dir: Path
    _state: TrainState = field(default_factory=TrainState, init=False)
    _window: LossWindow = field(default_factory=LossWindow, init=False)
    _throughput: Throughput = field(default_factory=Throughput, init=False)

    def run(self, events: EventLog | None, *, resume: bool) -> TrainResult:
        """Train to the end and return what was done."""
        store = CheckpointStore(self.run_dir / "checkpoints")
        if store.path("last") is not None and not resume:
            raise RunDirError(
                f"{store.folder} holds the checkpoints of a training; go on from them with "
                "resume, or use another run directory"
            )
        if not len(self.train_loader):
            raise DataError("there are no batches to learn from")
        # The caller's random numbers are not touched.
        gpus = [self.device.index] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=gpus):
            torch.manual_seed(self.config.seed)
            return self._run(store, events, resume=resume)

    def _run(self, store: CheckpointStore, events: EventLog | None, *, resume: bool) -> TrainResult:
        self._store = store
        self._optimizers = Optimizers(self.model, self.config)
        self._snapshots = Snapshots(
            model=self.model,
            optimizers=self._optimizers,
            loader=self.train_loader,
            config=self.config,
            target=self.target,
            device=self.device,
        )
        store.clean()
        resumed = resume and store.path("last") is not None
        if resumed:
            self._resume()
        state = self._state
        self._stopping = EarlyStopping(
            MONITORS[self.monitor],
            self.config.early_stopping_patience,
            self.config.early_stopping_min_delta,
            state.best,
            state.stale,
        )
        # More patience than before lets a stopped training go on.
        state.stopped = self._stopping.should_stop
        total = self.config.epochs * len(self.train_loader)
        self._total_steps = total
        self._first_epoch = state.epoch
        self._progress: Progress = progress_for(
            shown=self.config.progress, epochs=self.config.epochs
        )
        board = self.run_dir / "tensorboard" if self.config.tensorboard else None
        with (
            TrainingLog(events, board, first_step=state.step) as self._log,
            closing(self._progress),
        ):
            if resumed:
                self._log.resume(state.step, state.epoch)
            self._progress.start(done=state.step, total=total)
            place_is_set = resumed
            while state.epoch <= self.config.epochs and not state.stopped:
                if not place_is_set:
                    self.train_loader.set_epoch(state.epoch - 1)
                place_is_set = False
                self._epoch()
        return self._finish()

    # -- an epoch -----------------------------------------------------------------------------

    def _epoch(self) -> None:
        state = self._state
        in_epoch = len(self.train_loader)
        self.model.train()
        self._throughput.start()
        for batch in self.train_loader:
            self._step(batch)
            if state.step % self.config.log_every_steps == 0:
                self._log_losses(batch)
            if self._validation_is_due() and state.epoch_steps < in_epoch:
                self._read_losses(batch)
                self._throughput.stop()
                improved = self._measure()
                self._save(best=improved)
                if state.stopped:
                    return
                self.model.train()
                self._throughput.start()
        if not state.epoch_steps:
            raise DataError("the training loader gave no batches")
        if len(self._window):
            self._log_losses(batch)
        self._throughput.stop()
        self._end_epoch()

    def _validation_is_due(self) -> bool:
        every = self.config.validate_every
        return (
            isinstance(every, int)
            and self.valid_loader is not None
            and self._state.step % every == 0
        )

    def _step(self, batch: Batch) -> None:
        on_cpu = self.device.type == "cpu"
        self._check(batch)
        moved = to_device(batch, self.device)
        outputs = self.model(moved)
        loss = self.objective.loss(outputs, scalar_column(moved, self.target))
        self._window.add(loss)
        self._state.step += 1
        self._state.epoch_steps += 1
        if on_cpu:
            # Nothing is waited for here, and weights are spared a step that ruins them.
            self._read_losses(batch)
        self._optimizers.set_scale(self._scale(self._state.step - 1))
        self._optimizers.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizers.step()
        self._throughput.add(rows_of(batch))
        self._progress.step(self._state.step)

    def _check(self, batch: Batch) -> None:
        labels = scalar_column(batch, self.target)
        # A look at what lies on the GPU waits for it; one epoch of that sees every row.
        if labels.device.type != "cpu" and self._state.epoch != self._first_epoch:
            return
        self.objective.check_labels(labels, self.target)
        # On the CPU the model itself notices what is wrong.
        if self.device.type != "cpu" and isinstance(self.model, ChecksBatches):
            self.model.check(batch)

    def _scale(self, step: int) -> float:
        return step_scale(
            step,
            schedule=self.config.schedule,
            warmup_steps=self.config.warmup_steps,
            total_steps=self._total_steps,
        )

    def _end_epoch(self) -> None:
        state = self._state
        epoch = state.epoch
        improved = self._measure()
        last = state.history[-1]
        self._progress.epoch(epoch, last.train_loss, last.metrics)
        state.epoch += 1
        state.epoch_steps = 0
        state.epoch_loss = 0.0
        is_last = epoch == self.config.epochs or state.stopped
        if improved or is_last or epoch % self.config.checkpoint_every_epochs == 0:
            self._save(best=improved)

    # -- losses and time ----------------------------------------------------------------------

    def _read_losses(self, batch: Batch) -> None:
        try:
            self._window.read()
        except NonFiniteLoss as found:
            step = self._state.step - found.steps_ago
            where = "this batch" if not found.steps_ago else f"a batch {found.steps_ago} steps on"
            raise TrainingDiverged(
                f"the loss became {found.value} at step {step} of epoch {self._state.epoch}. "
                f"Likely causes (from {where}): "
                f"{likely_causes(batch, self.continuous, self.config)}. {self._kept()}"
            ) from None

    def _kept(self) -> str:
        path = self._store.path("last")
        return f"The last checkpoint is {path}" if path else "There is no checkpoint yet"

    def _log_losses(self, batch: Batch) -> None:
        self._read_losses(batch)
        state = self._state
        loss = self._window.mean()
        rate = self._throughput.lap()
        lr = self._optimizers.set_scale(self._scale(state.step - 1))
        self._log.train(state.step, state.epoch, loss=loss, lr=lr, rate=rate)
        self._progress.train(loss=loss, rate=rate)
        state.epoch_loss += loss * len(self._window)
        self._window.clear()

    # -- measuring and saving -----------------------------------------------------------------

    def _measure(self) -> bool:
        """Measure on the validation data and return whether the weights are the best so far."""
        state = self._state
        loss = (state.epoch_loss + sum(self._window.values)) / state.epoch_steps
        metrics: Mapping[str, float | None] = {}
        if self.valid_loader is not None:
            metrics = self.evaluate(self.model, self.valid_loader)
            self._log.valid(state.step, state.epoch, metrics)
            if metrics.get(self.monitor) is None:
                _log.warning(
                    "%s has no value on the validation data after step %d, so it cannot be told "
                    "which weights are best; if the rows have labels of one kind only, take other "
                    "rows or another trainer.monitor",
                    self.monitor,
                    state.step,
                )
        state.history.append(Measurement(state.step, state.epoch, loss, metrics))
        if self.valid_loader is None:
            improved = True
        else:
            improved = self._stopping.update(metrics.get(self.monitor))
            state.best, state.stale = self._stopping.best, self._stopping.stale
            state.stopped = self._stopping.should_stop
        if improved or state.best_measurement < 0:
            state.best_measurement = len(state.history) - 1
            improved = True
        if state.stopped:
            self._log.early_stop(state.step, state.epoch, monitor=self.monitor, best=state.best)
        return improved

    def _save(self, *, best: bool) -> None:
        state = self._state
        for name, weight in self.model.named_parameters():
            if not bool(torch.isfinite(weight).all()):
                raise TrainingDiverged(
                    f"the weight '{name}' became NaN or infinite by step {state.step}: lower "
                    f"learning_rate ({self.config.learning_rate:g}) or set gradient_clip. "
                    f"{self._kept()}"
                )
        state.window = self._window.values
        path = self._store.save(self._snapshots.take(state), step=state.step, best=best)
        self._log.checkpoint(state.step, state.epoch, name=path.name, best=best)

    def _resume(self) -> None:
        checkpoint = self._store.read("last")
        source = self._store.path("last") or self._store.folder
        self._state = self._snapshots.restore(checkpoint, source)
        self._window = LossWindow(self._state.window)

    def _finish(self) -> TrainResult:
        state = self._state
        last, best = self._store.path("last"), self._store.path("best")
        assert last is not None and best is not None, "an epoch's end writes a checkpoint"
        if best != last:
            load_weights(self.model, self._store.read("best", training=False).model, best)
        return TrainResult(
            steps=state.step,
            epochs=state.epoch - 1,
            history=tuple(state.history),
            monitor=self.monitor if self.valid_loader is not None else None,
            best=state.history[state.best_measurement],
            stopped_early=state.stopped,
            checkpoint=last,
            best_checkpoint=best,
            seconds=self._throughput.seconds,
            samples_per_second=self._throughput.total(),
        )
