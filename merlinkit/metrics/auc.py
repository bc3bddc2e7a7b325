"""Area under the ROC curve, exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merlinkit.errors import DataError
from merlinkit.metrics.arrays import (
    Floats,
    Values,
    as_floats,
    as_labels,
    as_weights,
    check_lengths,
)

__all__ = ["auc"]


def auc(labels: Values, scores: Values, weights: Values | None = None) -> float:
    """Return the probability that a positive row scores above a negative one, ties counting half.

    Parameters
    ----------
    labels
        0 or 1; shape ``[rows]``.
    scores
        Any numbers that rise with the chance of a positive; shape ``[rows]``. Logits are better
        than probabilities: a float32 sigmoid maps many large logits to the same 1.0.
    weights
        Row weights; shape ``[rows]``.

    Returns
    -------
    float
        Between 0 and 1; 0.5 for scores that say nothing.

    Raises
    ------
    ParameterError
        If the arrays differ in length or have more than one dimension.
    DataError
        If a label is neither 0 nor 1, a score is NaN, or one of the classes has no row (or no
        weight).

    Notes
    -----
    This is the Mann-Whitney statistic with mid ranks (Hanley and McNeil, 1982), which equals
    the area under the ROC curve by trapezoids. Without weights it is computed in whole numbers
    and rounded once, in O(n log n).

    Examples
    --------
    >>> auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> auc([0, 1, 1], [0.5, 0.5, 0.5])
    0.5
    """
    positive = as_labels(labels)
    values = as_floats(scores, "scores", keep_single=True)
    row_weights = as_weights(weights)
    check_lengths(labels=positive, scores=values, weights=row_weights)
    if row_weights is None:
        return _unweighted(positive, values)
    return _weighted(positive, values, row_weights)


def _missing_class(kind: str) -> DataError:
    return DataError(f"AUC needs rows of both classes, but there is no {kind} row")


def _unweighted(positive: npt.NDArray[np.bool_], scores: npt.NDArray[Any]) -> float:
    # Sorting the two classes by value and searching one in the other is several times faster
    # than sorting positions, and needs no gathering.
    above = np.sort(scores[positive])
    below = np.sort(scores[~positive])
    if not above.size or not below.size:
        raise _missing_class("negative" if above.size else "positive")
    # Negatives below, plus negatives below or equal: twice the wins with ties as half.
    twice_wins = int(np.searchsorted(below, above, "left").sum()) + int(
        np.searchsorted(below, above, "right").sum()
    )
    return twice_wins / (2 * above.size * below.size)


def _weighted(positive: npt.NDArray[np.bool_], scores: npt.NDArray[Any], weights: Floats) -> float:
    # Rows of no weight neither win nor make a tie.
    used = weights > 0
    positive, scores, weights = positive[used], scores[used], weights[used]
    if positive.all() or not positive.any():
        raise _missing_class("negative" if positive.any() else "positive")
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    first_of_tie = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    weight = weights[order]
    above = np.add.reduceat(np.where(positive[order], weight, 0.0), first_of_tie)
    below = np.add.reduceat(np.where(positive[order], 0.0, weight), first_of_tie)
    below_before = np.cumsum(below) - below
    wins = np.sum(above * (below_before + below / 2))
    return float(wins / (above.sum() * below.sum()))
