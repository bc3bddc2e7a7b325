"""The kinds of logs that can be generated, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from merlinkit.data.synthetic.criteo import CriteoSpec, criteo_schema, generate_criteo
from merlinkit.data.synthetic.generator import generate, synthetic_schema
from merlinkit.data.synthetic.spec import SyntheticSpec
from merlinkit.schema import Schema

__all__ = ["PRESETS", "LogSpec", "Preset", "preset_of"]

LogSpec = SyntheticSpec | CriteoSpec
"""What a log should look like; its type says of which kind it is."""


@dataclass(frozen=True)
class Preset:
    """A kind of log.

    Parameters
    ----------
    name
        Its name.
    spec
        Type of its parameters.
    schema
        Returns its columns.
    generate
        Yields the rows from one row number to another as frames.
    """

    name: str
    spec: type[LogSpec]
    schema: Callable[[Any], Schema]
    generate: Callable[[Any, int, int], Iterator[pl.DataFrame]]


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "clicks",
            SyntheticSpec,
            synthetic_schema,
            lambda spec, start, stop: generate(spec, start=start, stop=stop),
        ),
        Preset(
            "criteo",
            CriteoSpec,
            lambda spec: criteo_schema(),
            lambda spec, start, stop: generate_criteo(spec, start=start, stop=stop),
        ),
    )
}


def preset_of(spec: LogSpec) -> Preset:
    """Return the kind of log that a spec is for."""
    return next(preset for preset in PRESETS.values() if type(spec) is preset.spec)
