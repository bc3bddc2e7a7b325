"""Seeded logs of any size with a known truth: who likes what, and how that drifts."""

from __future__ import annotations

from merlinkit.data.synthetic.criteo import CriteoSpec, criteo_schema, generate_criteo
from merlinkit.data.synthetic.generator import generate, synthetic_schema
from merlinkit.data.synthetic.presets import PRESETS, LogSpec, preset_of
from merlinkit.data.synthetic.spec import SyntheticSpec
from merlinkit.data.synthetic.writer import write

__all__ = [
    "PRESETS",
    "CriteoSpec",
    "LogSpec",
    "SyntheticSpec",
    "criteo_schema",
    "generate",
    "generate_criteo",
    "preset_of",
    "synthetic_schema",
    "write",
]
