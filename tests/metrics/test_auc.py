"""AUC against hand-worked cases, pair counting and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from merlinkit.errors import DataError, ParameterError
from merlinkit.metrics import auc


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        # Positives 3 and 4 against negatives 1 and 2: every pair won.
        ([0, 0, 1, 1], [1, 2, 3, 4], 1.0),
        ([1, 1, 0, 0], [1, 2, 3, 4], 0.0),
        # Pairs (.35 against .1, .4) and (.8 against .1, .4): three of four won.
        ([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.75),
        # Positive 2 beats 1, ties with 2, loses to 3: 1.5 of 3.
        ([1, 0, 0, 0], [2, 1, 2, 3], 0.5),
        # All equal: every pair is a tie.
        ([1, 0, 1, 0, 0], [7, 7, 7, 7, 7], 0.5),
        ([1, 0], [np.inf, -np.inf], 1.0),
        # Equal infinities tie: (inf ties, inf beats 0) is 1.5 of 2.
        ([1, 0, 0], [np.inf, np.inf, 0.0], 0.75),
    ],
)
def test_worked_by_hand(labels: list[int], scores: list[float], expected: float) -> None:
    assert auc(labels, scores) == expected
    assert auc(labels, scores, np.full(len(labels), 0.5)) == expected


def test_weights_worked_by_hand() -> None:
    # Positive weight 2 beats negative weight 3 and ties with negative weight 1: (6 + 1) / 8.
    assert auc([1, 0, 0], [5, 1, 5], [2, 3, 1]) == pytest.approx(7 / 8, abs=1e-15)
    # A row of weight 0 is as if it were not there.
    assert auc([1, 0, 0, 0], [5, 1, 5, 9], [2, 3, 1, 0]) == pytest.approx(7 / 8, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.booleans(), st.integers(-3, 3), st.integers(0, 3)), min_size=2, max_size=40
    )
)
def test_equals_the_count_of_pairs(rows: list[tuple[bool, int, int]]) -> None:
    rows = [(True, 1, 1), (False, 0, 1), *rows]
    labels, scores, weights = (np.array(part) for part in zip(*rows, strict=True))
    wins = weighted_wins = total = 0.0
    for i in np.flatnonzero(labels):
        for j in np.flatnonzero(~labels):
            win = 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
            wins += win
            weighted_wins += win * weights[i] * weights[j]
            total += weights[i] * weights[j]
    pairs = labels.sum() * (~labels).sum()
    assert auc(labels, scores) == wins / pairs
    assert auc(labels, scores, weights) == pytest.approx(weighted_wins / total, abs=1e-12)


@pytest.mark.parametrize("decimals", [0, 1, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn_on_many_rows(decimals: int, weighted: bool) -> None:
    rng = np.random.default_rng(decimals)
    labels = rng.random(50_000) < 0.03
    scores = np.round(rng.normal(size=50_000) + labels, decimals)
    weights = rng.random(50_000) if weighted else None
    expected = roc_auc_score(labels, scores, sample_weight=weights)
    assert auc(labels, scores, weights) == pytest.approx(expected, abs=1e-12)


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    labels, scores = rng.random(1000) < 0.5, rng.integers(0, 20, 1000)
    order = rng.permutation(1000)
    assert auc(labels, scores) == auc(labels[order], scores[order])


def test_takes_tensors_that_need_gradients() -> None:
    logits = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    assert auc(torch.tensor([0, 0, 1]), logits) == 1.0
    assert auc(torch.tensor([0, 0, 1]), logits.detach().to(torch.bfloat16)) == 1.0


@pytest.mark.parametrize(
    ("labels", "kind"), [([1, 1, 1], "negative"), ([0, 0, 0], "positive"), ([], "positive")]
)
def test_one_class_is_a_clear_error(labels: list[int], kind: str) -> None:
    with pytest.raises(DataError, match=f"both classes, but there is no {kind} row"):
        auc(labels, [0.5] * len(labels))


def test_a_class_without_weight_is_a_clear_error() -> None:
    with pytest.raises(DataError, match="no positive row"):
        auc([1, 0], [2, 1], [0, 1])


@pytest.mark.parametrize(
    ("labels", "scores", "weights", "error", "message"),
    [
        ([0, 1], [0.5], None, ParameterError, "labels 2, scores 1"),
        ([0, 1], [0.5, 0.1], [1], ParameterError, "weights 1"),
        ([[0, 1]], [0.5, 0.1], None, ParameterError, r"one dimension, got shape \(1, 2\)"),
        ([0, 2], [0.5, 0.1], None, DataError, "got 2 in row 1"),
        ([0, float("nan")], [0.5, 0.1], None, DataError, "1 NaN of 2"),
        ([0, 1], [0.5, float("nan")], None, DataError, "scores hold 1 NaN of 2"),
        ([0, 1], ["a", "b"], None, DataError, "must be numbers"),
        ([0, 1], [0.5, 0.1], [1, -1], DataError, "not negative"),
        ([0, 1], [0.5, 0.1], [0, 0], DataError, "all zero"),
    ],
)
def test_what_cannot_be(
    labels: list[float],
    scores: list[float],
    weights: list[float] | None,
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        auc(labels, scores, weights)
