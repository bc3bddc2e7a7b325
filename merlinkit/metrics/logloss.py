"""Log loss, and log loss as a share of what the base rate alone would give."""

from __future__ import annotations

import math

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

__all__ = ["entropy", "logloss", "logloss_from_logits", "normalized_entropy", "row_logloss"]


def logloss(labels: Values, probabilities: Values, weights: Values | None = None) -> float:
    """Return the mean of ``-y log(p) - (1 - y) log(1 - p)`` in nats.

    Parameters
    ----------
    labels
        0 or 1; shape ``[rows]``.
    probabilities
        Predicted chances of a positive, in [0, 1]; shape ``[rows]``. They are clipped to
        ``[eps, 1 - eps]`` with the epsilon of float64, so that one wrong certainty costs 36
        nats and not infinity.
    weights
        Row weights; shape ``[rows]``.

    Raises
    ------
    ParameterError
        If the arrays differ in length or have more than one dimension.
    DataError
        If there are no rows, a label is neither 0 nor 1, or a probability is outside [0, 1].

    See Also
    --------
    logloss_from_logits : needs no clipping and is exact for large logits.

    Examples
    --------
    >>> round(logloss([1, 0], [0.5, 0.5]), 6)
    0.693147
    """
    positive = as_labels(labels)
    chances: Floats = as_floats(probabilities, "probabilities")
    row_weights = as_weights(weights)
    check_lengths(labels=positive, probabilities=chances, weights=row_weights)
    outside = (chances < 0) | (chances > 1)
    if outside.any():
        raise DataError(
            f"probabilities must lie in [0, 1], got {chances[outside][0]:g}; "
            "for logits use logloss_from_logits"
        )
    epsilon = float(np.finfo(np.float64).eps)
    clipped = np.clip(chances, epsilon, 1 - epsilon)
    return _mean(-np.log(np.where(positive, clipped, 1 - clipped)), row_weights)


def logloss_from_logits(labels: Values, logits: Values, weights: Values | None = None) -> float:
    """Return the log loss of ``sigmoid(logits)`` in nats, without computing the sigmoid.

    Parameters
    ----------
    labels
        0 or 1; shape ``[rows]``.
    logits
        Any numbers; shape ``[rows]``. Large ones lose nothing: a logit of 1000 for a negative
        row costs 1000 nats.
    weights
        Row weights; shape ``[rows]``.

    Raises
    ------
    ParameterError
        If the arrays differ in length or have more than one dimension.
    DataError
        If there are no rows or a label is neither 0 nor 1.

    Examples
    --------
    >>> logloss_from_logits([0], [1000.0])
    1000.0
    """
    positive = as_labels(labels)
    values: Floats = as_floats(logits, "logits")
    row_weights = as_weights(weights)
    check_lengths(labels=positive, logits=values, weights=row_weights)
    return _mean(row_logloss(positive, values), row_weights)


def row_logloss(positive: npt.NDArray[np.bool_], logits: Floats) -> Floats:
    """Return ``log(1 + exp(-z))`` for each row, with ``z`` the logit towards the row's label."""
    toward = np.where(positive, logits, -logits)
    loss: Floats = np.maximum(-toward, 0.0) + np.log1p(np.exp(-np.abs(toward)))
    return loss


def entropy(rate: float) -> float:
    """Return ``-p log(p) - (1 - p) log(1 - p)`` in nats; 0 for a rate of 0 or 1.

    Examples
    --------
    >>> entropy(1.0)
    0.0
    """
    if rate <= 0 or rate >= 1:
        return 0.0
    return -rate * math.log(rate) - (1 - rate) * math.log1p(-rate)


def normalized_entropy(
    labels: Values, probabilities: Values, weights: Values | None = None
) -> float:
    """Return the log loss divided by the entropy of the base rate of the same rows.

    1.0 is what predicting the base rate for every row would score; lower is better. Unlike log
    loss it can be compared between data sets with different base rates.

    Parameters
    ----------
    labels
        0 or 1; shape ``[rows]``.
    probabilities
        Predicted chances of a positive, in [0, 1]; shape ``[rows]``.
    weights
        Row weights; shape ``[rows]``. They weight the base rate too.

    Raises
    ------
    ParameterError
        If the arrays differ in length or have more than one dimension.
    DataError
        As `logloss`, and if all rows have the same label: their base rate has no entropy.

    References
    ----------
    He et al., "Practical Lessons from Predicting Clicks on Ads at Facebook", ADKDD 2014.

    Examples
    --------
    >>> normalized_entropy([1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25])
    1.0
    """
    loss = logloss(labels, probabilities, weights)
    base = entropy(_mean(as_labels(labels).astype(np.float64), as_weights(weights)))
    if base == 0:
        raise DataError("normalized entropy needs rows of both classes, but all labels are equal")
    return loss / base


def _mean(values: Floats, weights: Floats | None) -> float:
    if not values.size:
        raise DataError("a metric needs at least one row")
    return float(np.average(values, weights=weights))
