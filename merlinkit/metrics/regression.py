"""Metrics of a regression model, gathered batch by batch."""

from __future__ import annotations

import math

import numpy as np

from merlinkit.metrics.arrays import Values, as_floats, check_lengths

__all__ = ["RegressionMetrics"]


class RegressionMetrics:
    """Gathers predictions and labels as a few sums, so that memory does not grow with rows.

    Attributes
    ----------
    undefined : dict of str to str
        For each metric that the last `compute` gave as None, why.

    Examples
    --------
    >>> metrics = RegressionMetrics()
    >>> metrics.update([1.0, 4.0], [1.0, 2.0])
    >>> metrics.compute()["mae"]
    1.0
    """

    def __init__(self) -> None:
        self.undefined: dict[str, str] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self.rows = 0
        self._squared = 0.0
        self._absolute = 0.0
        self._predicted = 0.0
        self._label_mean = 0.0
        self._label_spread = 0.0
        self.undefined = {}

    def update(self, predictions: Values, labels: Values) -> None:
        """Add rows.

        Parameters
        ----------
        predictions, labels
            Numbers; shape ``[rows]``.

        Raises
        ------
        ParameterError
            If the arrays differ in length.
        DataError
            If a value is NaN.
        """
        predicted = as_floats(predictions, "predictions")
        actual = as_floats(labels, "labels")
        check_lengths(predictions=predicted, labels=actual)
        if not actual.size:
            return
        part = RegressionMetrics()
        error = predicted - actual
        part.rows = actual.size
        part._squared = float(np.square(error).sum())
        part._absolute = float(np.abs(error).sum())
        part._predicted = float(predicted.sum())
        part._label_mean = float(actual.mean())
        part._label_spread = float(np.square(actual - part._label_mean).sum())
        self.merge(part)

    def merge(self, other: RegressionMetrics) -> None:
        """Add all rows of another accumulator, by the pairwise formula of Chan et al. (1979)."""
        if not other.rows:
            return
        rows = self.rows + other.rows
        gap = other._label_mean - self._label_mean
        self._label_spread += other._label_spread + gap * gap * self.rows * other.rows / rows
        self._label_mean += gap * other.rows / rows
        self._squared += other._squared
        self._absolute += other._absolute
        self._predicted += other._predicted
        self.rows = rows

    def compute(self) -> dict[str, float | None]:
        """Return the metrics of all rows.

        Returns
        -------
        dict
            ``rmse``, ``mae``, ``r2`` (1 minus squared error over squared spread of the labels),
            ``mean_prediction``, ``mean_label`` and ``rows``. None without rows, and for ``r2``
            when all labels are equal; `undefined` then says why.
        """
        self.undefined = {}
        if not self.rows:
            names = ("rmse", "mae", "r2", "mean_prediction", "mean_label")
            self.undefined = dict.fromkeys(names, "there are no rows")
            return {**dict.fromkeys(names), "rows": 0.0}
        r2: float | None = None
        if self._label_spread > 0:
            r2 = 1 - self._squared / self._label_spread
        else:
            self.undefined = {"r2": "all labels are equal"}
        return {
            "rmse": math.sqrt(self._squared / self.rows),
            "mae": self._absolute / self.rows,
            "r2": r2,
            "mean_prediction": self._predicted / self.rows,
            "mean_label": self._label_mean,
            "rows": float(self.rows),
        }
