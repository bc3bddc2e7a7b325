"""Whether predicted probabilities are as high as the rates that come true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from merlinkit.errors import DataError, ParameterError, did_you_mean
from merlinkit.metrics.arrays import (
    Floats,
    Values,
    as_floats,
    as_labels,
    as_weights,
    check_lengths,
)

__all__ = ["Binning", "Calibration", "ReliabilityBin", "calibration"]

Binning = Literal["width", "mass"]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """One bar of a reliability diagram.

    Parameters
    ----------
    lower, upper
        The bin holds predictions above ``lower`` and up to ``upper``; the first one holds
        ``lower`` too.
    rows
        Number of rows in the bin.
    weight
        Their total weight; the number of rows where there are no weights.
    mean_prediction, mean_label
        Means over the rows of the bin.
    """

    lower: float
    upper: float
    rows: int
    weight: float
    mean_prediction: float
    mean_label: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What `calibration` found.

    Parameters
    ----------
    ratio
        Mean prediction divided by mean label: 1 is calibrated, above 1 too confident. None when
        there is no positive row.
    expected_error
        Expected calibration error: the mean over rows of the gap between mean prediction and
        mean label of the row's bin.
    mean_prediction, mean_label
        Means over all rows.
    bins
        The bins that hold rows, from low to high.
    """

    ratio: float | None
    expected_error: float
    mean_prediction: float
    mean_label: float
    bins: tuple[ReliabilityBin, ...]


def calibration(
    labels: Values,
    probabilities: Values,
    weights: Values | None = None,
    *,
    bins: int = 10,
    binning: Binning = "width",
) -> Calibration:
    """Compare predicted probabilities with the rates that came true, overall and by bins.

    Parameters
    ----------
    labels
        0 or 1; shape ``[rows]``.
    probabilities
        Predicted chances of a positive, in [0, 1]; shape ``[rows]``.
    weights
        Row weights; shape ``[rows]``.
    bins
        Number of bins.
    binning
        ``"width"``: bins of equal width over [0, 1]. ``"mass"``: between quantiles of the
        predictions, so that bins hold about equally many rows; equal predictions are never
        parted, so there can be fewer bins.

    Raises
    ------
    ParameterError
        If the arrays differ in length, ``bins`` is below 1 or ``binning`` is unknown.
    DataError
        If there are no rows, a label is neither 0 nor 1, or a probability is outside [0, 1].

    References
    ----------
    Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian
    Binning", AAAI 2015, for the expected calibration error.

    Examples
    --------
    >>> found = calibration([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], bins=2)
    >>> found.ratio, found.expected_error
    (0.6666666666666666, 0.25)
    """
    if bins < 1:
        raise ParameterError(f"bins must be at least 1, got {bins}")
    if binning not in get_args(Binning):
        hint = did_you_mean(binning, get_args(Binning))
        raise ParameterError(f"unknown binning '{binning}'.{hint} There are 'width' and 'mass'.")
    positive = as_labels(labels)
    chances: Floats = as_floats(probabilities, "probabilities")
    row_weights = as_weights(weights)
    check_lengths(labels=positive, probabilities=chances, weights=row_weights)
    if not chances.size:
        raise DataError("a metric needs at least one row")
    if chances.min() < 0 or chances.max() > 1:
        worst = chances.min() if chances.min() < 0 else chances.max()
        raise DataError(f"probabilities must lie in [0, 1], got {worst:g}")

    weight = np.ones_like(chances) if row_weights is None else row_weights
    edges = _edges(chances, bins, binning)
    index = np.searchsorted(edges[1:-1], chances, side="left")
    rows = np.bincount(index, minlength=len(edges) - 1)
    mass = np.bincount(index, weight, minlength=len(edges) - 1)
    predicted = np.bincount(index, weight * chances, minlength=len(edges) - 1)
    came_true = np.bincount(index, weight * positive, minlength=len(edges) - 1)

    total = float(mass.sum())
    mean_label = float(came_true.sum()) / total
    mean_prediction = float(predicted.sum()) / total
    return Calibration(
        ratio=mean_prediction / mean_label if mean_label > 0 else None,
        expected_error=float(np.abs(predicted - came_true).sum()) / total,
        mean_prediction=mean_prediction,
        mean_label=mean_label,
        bins=tuple(
            ReliabilityBin(
                lower=float(edges[i]),
                upper=float(edges[i + 1]),
                rows=int(rows[i]),
                weight=float(mass[i]),
                mean_prediction=float(predicted[i] / mass[i]),
                mean_label=float(came_true[i] / mass[i]),
            )
            for i in np.flatnonzero(mass > 0)
        ),
    )


def _edges(chances: Floats, bins: int, binning: Binning) -> npt.NDArray[np.float64]:
    if binning == "width":
        return np.linspace(0.0, 1.0, bins + 1)
    edges = np.unique(np.quantile(chances, np.linspace(0.0, 1.0, bins + 1)))
    # Constant predictions leave a single edge; one bin of no width holds them all.
    return edges if edges.size > 1 else np.repeat(edges, 2)
