"""Log loss and normalized entropy against hand-worked cases and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from merlinkit.errors import DataError
from merlinkit.metrics import logloss, logloss_from_logits, normalized_entropy


def test_worked_by_hand() -> None:
    # -ln(0.8) for the positive row, -ln(1 - 0.4) for the negative one.
    expected = -(math.log(0.8) + math.log(0.6)) / 2
    assert logloss([1, 0], [0.8, 0.4]) == pytest.approx(expected, rel=1e-15)
    assert logloss([1, 0], [0.8, 0.4], [3, 1]) == pytest.approx(
        -(3 * math.log(0.8) + math.log(0.6)) / 4, rel=1e-15
    )


def test_a_wrong_certainty_costs_what_it_costs_in_scikit_learn() -> None:
    labels, chances = [1, 0, 1], [0.0, 1.0, 1.0]
    assert logloss(labels, chances) == pytest.approx(log_loss(labels, chances), rel=1e-12)
    assert logloss([1], [0.0]) == pytest.approx(-math.log(2**-52), rel=1e-15)
    assert logloss([1, 0], [1.0, 0.0]) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    labels, chances = rng.random(20_000) < 0.2, rng.random(20_000)
    weights = rng.random(20_000) if weighted else None
    expected = log_loss(labels, chances, sample_weight=weights)
    assert logloss(labels, chances, weights) == pytest.approx(expected, rel=1e-12)
    logits = np.log(chances) - np.log1p(-chances)
    assert logloss_from_logits(labels, logits, weights) == pytest.approx(expected, rel=1e-10)


def test_large_logits_lose_nothing() -> None:
    assert logloss_from_logits([0, 1], [1000.0, -500.0]) == 750.0
    # ln(1 + e^-40) is e^-40 to double precision; through a probability it would be 0.
    assert logloss_from_logits([1], [40.0]) == pytest.approx(math.exp(-40), rel=1e-12)
    assert logloss_from_logits([1, 0], [np.inf, -np.inf]) == 0.0


def test_normalized_entropy_worked_by_hand() -> None:
    # Base rate 1/4: entropy 1/4 ln 4 + 3/4 ln(4/3).
    base = math.log(4) / 4 + 3 * math.log(4 / 3) / 4
    chances = [0.7, 0.1, 0.2, 0.3]
    loss = -(math.log(0.7) + math.log(0.9) + math.log(0.8) + math.log(0.7)) / 4
    assert normalized_entropy([1, 0, 0, 0], chances) == pytest.approx(loss / base, rel=1e-14)


def test_normalized_entropy_of_the_base_rate_is_one() -> None:
    labels = np.arange(1000) % 7 == 0
    assert normalized_entropy(labels, np.full(1000, labels.mean())) == pytest.approx(1, rel=1e-12)
    weights = np.arange(1000) + 1.0
    rate = np.average(labels, weights=weights)
    assert normalized_entropy(labels, np.full(1000, rate), weights) == pytest.approx(1, rel=1e-12)


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match="at least one row"):
        logloss([], [])
    with pytest.raises(DataError, match=r"\[0, 1\], got 1.5; for logits use"):
        logloss([1], [1.5])
    with pytest.raises(DataError, match="all labels are equal"):
        normalized_entropy([1, 1], [0.5, 0.5])
