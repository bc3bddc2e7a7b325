"""Calibration against hand-worked cases and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from merlinkit.errors import DataError, ParameterError
from merlinkit.metrics import calibration


def test_worked_by_hand() -> None:
    found = calibration([0, 1, 1, 1, 0], [0.2, 0.4, 0.5, 0.9, 0.6], bins=2)
    # Bins [0, .5] and (.5, 1]: predictions .2 .4 .5 with labels 0 1 1, and .9 .6 with 1 0.
    low, high = found.bins
    assert (low.lower, low.upper, low.rows, high.rows) == (0.0, 0.5, 3, 2)
    assert low.mean_prediction == pytest.approx(1.1 / 3)
    assert low.mean_label == pytest.approx(2 / 3)
    assert high.mean_prediction == pytest.approx(0.75)
    assert high.mean_label == pytest.approx(0.5)
    # Gaps |1.1 - 2| and |1.5 - 1| over five rows.
    assert found.expected_error == pytest.approx(1.4 / 5)
    assert found.ratio == pytest.approx((2.6 / 5) / (3 / 5))


def test_weights_act_like_repeated_rows() -> None:
    labels, chances = [0, 1, 1], [0.1, 0.15, 0.8]
    weighted = calibration(labels, chances, [3, 1, 2], bins=5)
    repeated = calibration([0, 0, 0, 1, 1, 1], [0.1, 0.1, 0.1, 0.15, 0.8, 0.8], bins=5)
    assert weighted.ratio == pytest.approx(repeated.ratio)
    assert weighted.expected_error == pytest.approx(repeated.expected_error)
    assert [item.weight for item in weighted.bins] == [item.rows for item in repeated.bins]


@pytest.mark.parametrize(("binning", "strategy"), [("width", "uniform"), ("mass", "quantile")])
def test_bins_equal_scikit_learn(binning: str, strategy: str) -> None:
    rng = np.random.default_rng(2)
    chances = rng.beta(2, 5, 5000)
    labels = rng.random(5000) < chances**1.5
    label_rate, mean_prediction = calibration_curve(labels, chances, n_bins=8, strategy=strategy)
    found = calibration(labels, chances, bins=8, binning=binning)  # type: ignore[arg-type]
    assert [item.mean_label for item in found.bins] == pytest.approx(list(label_rate))
    assert [item.mean_prediction for item in found.bins] == pytest.approx(list(mean_prediction))
    assert sum(item.rows for item in found.bins) == 5000


def test_bins_of_equal_mass_hold_equally_many_rows() -> None:
    found = calibration(np.arange(100) % 2, np.linspace(0.001, 0.1, 100), bins=4, binning="mass")
    assert [item.rows for item in found.bins] == [25, 25, 25, 25]


@pytest.mark.parametrize("binning", ["width", "mass"])
@pytest.mark.parametrize("constant", [0.0, 0.25, 1.0])
def test_constant_predictions_fall_into_one_bin(binning: str, constant: float) -> None:
    found = calibration([0, 0, 0, 1], [constant] * 4, binning=binning)  # type: ignore[arg-type]
    assert [item.rows for item in found.bins] == [4]
    assert found.expected_error == pytest.approx(abs(constant - 0.25))
    assert found.ratio == pytest.approx(constant / 0.25)


def test_without_positives_there_is_no_ratio() -> None:
    assert calibration([0, 0], [0.1, 0.2]).ratio is None


def test_what_cannot_be() -> None:
    with pytest.raises(ParameterError, match="at least 1, got 0"):
        calibration([0], [0.5], bins=0)
    with pytest.raises(ParameterError, match="Did you mean 'width'"):
        calibration([0], [0.5], binning="widht")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"got -0\.5"):
        calibration([0], [-0.5])
    with pytest.raises(DataError, match="at least one row"):
        calibration([], [])
