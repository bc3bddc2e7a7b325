"""Metrics of models: exact, with documented behaviour on ties, constants and single classes."""

from merlinkit.metrics.auc import auc
from merlinkit.metrics.binary import BinaryMetrics
from merlinkit.metrics.calibration import Calibration, ReliabilityBin, calibration
from merlinkit.metrics.logloss import logloss, logloss_from_logits, normalized_entropy
from merlinkit.metrics.regression import RegressionMetrics

__all__ = [
    "BinaryMetrics",
    "Calibration",
    "RegressionMetrics",
    "ReliabilityBin",
    "auc",
    "calibration",
    "logloss",
    "logloss_from_logits",
    "normalized_entropy",
]
