"""What a model learns: the loss, the metrics and the checks that go with a kind of label."""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F

from merlinkit.errors import DataError
from merlinkit.metrics import BinaryMetrics, RegressionMetrics
from merlinkit.metrics.arrays import Values
from merlinkit.schema import Column
from merlinkit.training.target_kind import target_kind

__all__ = ["Binary", "Metrics", "Objective", "Regression", "objective_for"]


class Metrics(Protocol):
    """Gathers model outputs and labels."""

    undefined: dict[str, str]

    def update(self, outputs: Values, labels: Values, /) -> None:
        """Add rows."""
        ...

    def compute(self) -> dict[str, float | None]:
        """Return the metrics of all rows."""
        ...


class Objective(Protocol):
    """A kind of label."""

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch, a scalar."""
        ...

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return what the outputs of the model say about the label, shape ``[rows]``."""
        ...

    def metrics(self) -> Metrics:
        """Return an empty accumulator."""
        ...

    def check_labels(self, labels: torch.Tensor, name: str) -> None:
        """Refuse labels that the loss is not made for."""
        ...


class Binary:
    """Labels of 0 and 1: cross entropy on logits."""

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean of ``log(1 + exp(-z))``, ``z`` the logit towards the label."""
        return F.binary_cross_entropy_with_logits(outputs, labels.to(outputs.dtype))

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the chance of a 1."""
        return torch.sigmoid(outputs)

    def metrics(self) -> BinaryMetrics:
        """Return an empty accumulator."""
        return BinaryMetrics()

    def check_labels(self, labels: torch.Tensor, name: str) -> None:
        """Refuse labels other than 0 and 1.

        Raises
        ------
        DataError
            Naming column and value.
        """
        wrong = (labels != 0) & (labels != 1)
        if bool(wrong.any()):
            raise DataError(
                f"target '{name}' holds {labels[wrong][0].item():g}, but a binary label must be "
                "0 or 1; make it binary with Expression, or tag it 'regression'"
            )


class Regression:
    """Labels that are numbers: squared error."""

    def loss(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean squared error."""
        return F.mse_loss(outputs, labels.to(outputs.dtype))

    def scores(self, outputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs."""
        return outputs

    def metrics(self) -> RegressionMetrics:
        """Return an empty accumulator."""
        return RegressionMetrics()

    def check_labels(self, labels: torch.Tensor, name: str) -> None:
        """Refuse NaN and infinite labels.

        Raises
        ------
        DataError
            Naming the column and how many there are.
        """
        if labels.is_floating_point():
            wrong = ~torch.isfinite(labels)
            if bool(wrong.any()):
                raise DataError(
                    f"target '{name}' holds {int(wrong.sum())} NaN or infinite values in a batch "
                    f"of {labels.numel()} rows; remove such rows with Filter or Dropna"
                )


def objective_for(target: Column) -> Objective:
    """Return the objective of a target by its tags; binary classification unless they say else.

    Raises
    ------
    SchemaError
        If the target is tagged as one of several classes, which is not supported, or both as
        binary and as a number.
    """
    return Regression() if target_kind(target) == "regression" else Binary()
