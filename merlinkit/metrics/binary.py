"""Metrics of a binary classifier, gathered batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merlinkit.errors import ParameterError
from merlinkit.metrics.arrays import Values, as_floats, as_labels, as_weights, check_lengths
from merlinkit.metrics.auc import auc
from merlinkit.metrics.calibration import calibration
from merlinkit.metrics.logloss import entropy, row_logloss

__all__ = ["BinaryMetrics"]

_CHUNK_ROWS = 1 << 20


class BinaryMetrics:
    """Gathers logits and labels, and computes exact metrics of all of them.

    Parameters
    ----------
    bins
        Number of bins of equal width for the expected calibration error.

    Attributes
    ----------
    undefined : dict of str to str
        For each metric that the last `compute` gave as None, why.

    Notes
    -----
    AUC depends on every pair of rows, so the rows are kept: five bytes a row (float32 logit and
    one byte of label), thirteen with weights, in blocks of about a million rows, so that small
    batches do not add up to many small arrays. Sums are kept in float64. The result does not
    depend on how the rows were cut into batches beyond the last digits of the sums, and AUC not
    at all, so parts gathered by several processes can be put together with `merge`.

    Examples
    --------
    >>> metrics = BinaryMetrics()
    >>> metrics.update(logits=[-2.0, 0.5], labels=[0, 0])
    >>> metrics.update(logits=[0.3, 1.5], labels=[1, 1])
    >>> metrics.compute()["auc"]
    0.75
    """

    def __init__(self, *, bins: int = 10) -> None:
        if bins < 1:
            raise ParameterError(f"bins must be at least 1, got {bins}")
        self._bins = bins
        self.undefined: dict[str, str] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self._logits: list[npt.NDArray[np.float32]] = []
        self._labels: list[npt.NDArray[np.bool_]] = []
        self._weights: list[npt.NDArray[np.float64]] = []
        self._weighted: bool | None = None
        self._loose_rows = 0
        self._loose_from = 0
        self.undefined = {}

    @property
    def rows(self) -> int:
        """Number of rows gathered."""
        return sum(chunk.size for chunk in self._labels)

    def update(self, logits: Values, labels: Values, weights: Values | None = None) -> None:
        """Add rows.

        Parameters
        ----------
        logits
            Model outputs before the sigmoid; shape ``[rows]``, kept as float32.
        labels
            0 or 1; shape ``[rows]``.
        weights
            Row weights; shape ``[rows]``. Either every call gives them or none does.

        Raises
        ------
        ParameterError
            If the arrays differ in length, or only some calls give weights.
        DataError
            If a logit is NaN or a label is neither 0 nor 1.
        """
        values = as_floats(logits, "logits", keep_single=True).astype(np.float32)
        positive = as_labels(labels)
        row_weights = as_weights(weights)
        check_lengths(logits=values, labels=positive, weights=row_weights)
        if self._weighted not in (None, row_weights is not None):
            raise ParameterError("either every update gives weights or none does")
        self._weighted = row_weights is not None
        self._logits.append(values)
        self._labels.append(positive.copy())
        if row_weights is not None:
            self._weights.append(row_weights.copy())
        self._loose_rows += positive.size
        if self._loose_rows >= _CHUNK_ROWS:
            self._pack()

    def merge(self, other: BinaryMetrics) -> None:
        """Add all rows of another accumulator.

        Raises
        ------
        ParameterError
            If one has weights and the other has none.
        """
        if None not in (self._weighted, other._weighted) and self._weighted != other._weighted:
            raise ParameterError("cannot merge metrics with and without weights")
        if other._weighted is not None:
            self._weighted = other._weighted
        self._logits.extend(other._logits)
        self._labels.extend(other._labels)
        self._weights.extend(other._weights)
        self._pack()

    def compute(self) -> dict[str, float | None]:
        """Return the metrics of all rows.

        Returns
        -------
        dict
            ``auc``, ``logloss``, ``normalized_entropy`` (log loss over the entropy of the base
            rate), ``calibration`` (mean prediction over mean label), ``ece`` (expected
            calibration error), ``mean_prediction``, ``base_rate`` and ``rows``. None where a
            metric has no value: without rows, or where it needs both classes and the rows have
            one; `undefined` then says why.
        """
        self.undefined = {}
        rows = self.rows
        if not rows:
            names = ("auc", "logloss", "normalized_entropy", "calibration", "ece")
            self.undefined = dict.fromkeys(
                (*names, "mean_prediction", "base_rate"), "there are no rows"
            )
            return {**dict.fromkeys(self.undefined), "rows": 0.0}
        self._pack()
        logits: npt.NDArray[Any] = np.concatenate(self._logits)
        positive = np.concatenate(self._labels)
        weights = np.concatenate(self._weights) if self._weighted else None

        wide = logits.astype(np.float64)
        loss = float(np.average(row_logloss(positive, wide), weights=weights))
        found = calibration(positive, _sigmoid(wide), weights, bins=self._bins)
        base = entropy(found.mean_label)
        values: dict[str, float | None] = {
            "auc": None,
            "logloss": loss,
            "normalized_entropy": None,
            "calibration": found.ratio,
            "ece": found.expected_error,
            "mean_prediction": found.mean_prediction,
            "base_rate": found.mean_label,
            "rows": float(rows),
        }
        if base > 0:
            values["auc"] = auc(positive, logits, weights)
            values["normalized_entropy"] = loss / base
        else:
            label = int(found.mean_label > 0)
            reason = f"all {rows} rows have label {label}; it needs rows of both classes"
            self.undefined = {"auc": reason, "normalized_entropy": reason}
        if found.ratio is None:
            self.undefined["calibration"] = f"none of the {rows} rows is positive"
        return values

    def _pack(self) -> None:
        """Join the arrays added since the last block into one block."""
        for arrays in (self._logits, self._labels, self._weights):
            loose = arrays[self._loose_from :]
            if len(loose) > 1:
                arrays[self._loose_from :] = [np.concatenate(loose)]
        self._loose_from = len(self._labels)
        self._loose_rows = 0


def _sigmoid(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    small = np.exp(-np.abs(values))
    chances: npt.NDArray[np.float64] = np.where(values >= 0, 1.0, small) / (1.0 + small)
    return chances
