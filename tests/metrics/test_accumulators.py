"""Metrics gathered in batches equal metrics of all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import (
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from merlinkit.errors import DataError, ParameterError
from merlinkit.metrics import BinaryMetrics, RegressionMetrics, binary


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits.astype(np.float64)))


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = rng.random(5000) < 0.2
    return (rng.normal(size=5000) + labels).round(1).astype(np.float32), labels


@pytest.mark.parametrize("batch_size", [1, 37, 4096, 5000])
def test_equals_scikit_learn_however_cut(
    rows: tuple[np.ndarray, np.ndarray], batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "_CHUNK_ROWS", 1000)
    logits, labels = rows
    metrics = BinaryMetrics()
    for start in range(0, 5000, batch_size):
        part = slice(start, start + batch_size)
        metrics.update(torch.from_numpy(logits[part]), torch.from_numpy(labels[part]))
    found = metrics.compute()
    loss = log_loss(labels, _sigmoid(logits))
    rate = labels.mean()
    entropy = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    assert found["auc"] == pytest.approx(roc_auc_score(labels, logits), abs=1e-12)
    assert found["logloss"] == pytest.approx(loss, rel=1e-12)
    assert found["normalized_entropy"] == pytest.approx(loss / entropy, rel=1e-12)
    assert found["base_rate"] == pytest.approx(rate)
    assert found["mean_prediction"] == pytest.approx(_sigmoid(logits).mean())
    assert found["calibration"] == pytest.approx(_sigmoid(logits).mean() / rate)
    assert found["rows"] == 5000
    assert metrics.undefined == {}


def test_small_batches_do_not_stay_small_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "_CHUNK_ROWS", 100)
    metrics = BinaryMetrics()
    for _ in range(1000):
        metrics.update([0.5], [1])
    assert len(metrics._logits) <= 10
    assert metrics.rows == 1000


def test_rows_are_copied_out_of_reused_buffers() -> None:
    logits, labels = np.zeros(2, np.float32), np.array([False, True])
    metrics = BinaryMetrics()
    logits[:] = [-1, 1]
    metrics.update(logits, labels)
    logits[:], labels[:] = [9, -9], [True, False]
    metrics.update(logits, np.array([True, False]))
    assert metrics.compute()["auc"] == 1.0


def test_weights(rows: tuple[np.ndarray, np.ndarray]) -> None:
    logits, labels = rows
    weights = np.random.default_rng(4).random(5000)
    metrics = BinaryMetrics()
    for part in (slice(0, 1234), slice(1234, None)):
        metrics.update(logits[part], labels[part], weights[part])
    found = metrics.compute()
    assert found["auc"] == pytest.approx(
        roc_auc_score(labels, logits, sample_weight=weights), abs=1e-12
    )
    assert found["logloss"] == pytest.approx(
        log_loss(labels, _sigmoid(logits), sample_weight=weights), rel=1e-12
    )
    assert found["base_rate"] == pytest.approx(np.average(labels, weights=weights))


def test_one_process_and_four_give_the_same(rows: tuple[np.ndarray, np.ndarray]) -> None:
    logits, labels = rows
    whole = BinaryMetrics()
    whole.update(logits, labels)
    merged = BinaryMetrics()
    for rank in range(4):
        part = BinaryMetrics()
        part.update(logits[rank::4], labels[rank::4])
        merged.merge(part)
    assert merged.compute()["auc"] == whole.compute()["auc"]
    for name, value in whole.compute().items():
        assert merged.compute()[name] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_no_auc_and_says_why(label: int) -> None:
    metrics = BinaryMetrics()
    metrics.update([0.5, -0.5], [label, label])
    found = metrics.compute()
    assert found["auc"] is None and found["normalized_entropy"] is None
    assert found["logloss"] == pytest.approx((np.log1p(np.exp(-0.5)) + np.log1p(np.exp(0.5))) / 2)
    assert f"all 2 rows have label {label}" in metrics.undefined["auc"]
    assert (found["calibration"] is None) == (label == 0)


def test_no_rows_have_no_metrics() -> None:
    for metrics in (BinaryMetrics(), RegressionMetrics()):
        found = metrics.compute()
        assert found.pop("rows") == 0
        assert set(found.values()) == {None}
        assert set(metrics.undefined) == set(found)


def test_a_saturated_sigmoid_does_not_make_ties() -> None:
    # As float32 probabilities both would be 1.0 and the AUC 0.5.
    metrics = BinaryMetrics()
    metrics.update(np.array([30.0, 20.0], np.float32), [1, 0])
    assert metrics.compute()["auc"] == 1.0


def test_what_cannot_be() -> None:
    metrics = BinaryMetrics()
    with pytest.raises(DataError, match="logits hold 1 NaN"):
        metrics.update([float("nan")], [1])
    with pytest.raises(ParameterError, match="logits 1, labels 2"):
        metrics.update([0.1], [1, 0])
    metrics.update([0.1], [1])
    with pytest.raises(ParameterError, match="either every update gives weights or none"):
        metrics.update([0.1], [1], [1.0])
    other = BinaryMetrics()
    other.update([0.1], [1], [1.0])
    with pytest.raises(ParameterError, match="with and without weights"):
        metrics.merge(other)
    assert metrics.rows == 1


@pytest.mark.parametrize("batch_size", [1, 300, 1000])
def test_regression_equals_scikit_learn(batch_size: int) -> None:
    rng = np.random.default_rng(6)
    # Large labels with little spread: the sum of squares alone would lose it.
    labels = 1.7e9 + rng.normal(size=1000)
    predictions = labels + rng.normal(size=1000) / 2
    metrics = RegressionMetrics()
    for start in range(0, 1000, batch_size):
        metrics.update(predictions[start : start + batch_size], labels[start : start + batch_size])
    found = metrics.compute()
    assert found["rmse"] == pytest.approx(root_mean_squared_error(labels, predictions), rel=1e-9)
    assert found["mae"] == pytest.approx(mean_absolute_error(labels, predictions), rel=1e-9)
    assert found["r2"] == pytest.approx(r2_score(labels, predictions), rel=1e-6)
    assert found["mean_label"] == pytest.approx(labels.mean(), rel=1e-14)


def test_regression_with_constant_labels() -> None:
    metrics = RegressionMetrics()
    metrics.update([1.0, 3.0], [2.0, 2.0])
    assert metrics.compute()["r2"] is None
    assert metrics.undefined == {"r2": "all labels are equal"}
    assert metrics.compute()["rmse"] == 1.0
