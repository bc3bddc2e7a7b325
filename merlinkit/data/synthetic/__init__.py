"""Seeded logs of any size with a known truth: who likes what, and how that drifts."""

from __future__ import annotations

from merlinkit.data.synthetic.generator import generate, synthetic_schema
from merlinkit.data.synthetic.spec import SyntheticSpec
from merlinkit.data.synthetic.writer import write

__all__ = ["SyntheticSpec", "generate", "synthetic_schema", "write"]
