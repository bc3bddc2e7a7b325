"""Configuration and environment: what is needed to run the same again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from omegaconf import OmegaConf

from merlinkit.report.coerce import mapping, text
from merlinkit.report.formats import clean, short, when
from merlinkit.report.masking import HIDDEN, masked, masked_text
from merlinkit.report.record import RunRecord

__all__ = ["Environment", "config_yaml", "environment"]

MOST_YAML = 200_000
_NAMES = {
    "merlinkit": "merlinkit",
    "python": "Python",
    "platform": "Platform",
    "engine": "Engine",
    "seed": "Seed",
    "started": "Started",
    "finished": "Finished",
    "status": "Status",
}
_TIMES = {"started", "finished", "ended"}
_ELSEWHERE = {"command", "versions", "error"}


@dataclass(frozen=True)
class Environment:
    """What the template shows of where the run took place."""

    command: str | None
    facts: list[tuple[str, str]]
    versions: list[tuple[str, str]]


def environment(record: RunRecord) -> Environment | None:
    """Return the section, or None where ``run.json`` says nothing."""
    if not record.run:
        return None
    known = [key for key in _NAMES if key in record.run]
    others = [
        key
        for key, value in masked(record.run).items()
        if key not in _NAMES and key not in _ELSEWHERE and isinstance(value, str | int | float)
    ]
    content = masked(record.run)
    return Environment(
        command=_command(record.run.get("command")),
        facts=[
            (
                _NAMES.get(key, short(key, 40)),
                when(content[key]) if key in _TIMES else short(content[key], 200),
            )
            for key in [*known, *others][:50]
        ],
        versions=[
            (short(name, 60), short(version, 60))
            for name, version in sorted(mapping(content.get("versions")).items())
        ][:200],
    )


def _command(value: object) -> str | None:
    if isinstance(value, list) and value:
        value = shlex.join(str(word) for word in value)
    found = text(value)
    return None if found is None else clean(masked_text(found))[:10_000]


def config_yaml(record: RunRecord) -> tuple[str, bool]:
    """Return the configuration as YAML without secrets, and whether any was hidden."""
    if not record.config:
        return "", False
    shown = clean(OmegaConf.to_yaml(OmegaConf.create(masked(record.config))))
    if len(shown) > MOST_YAML:
        shown = shown[:MOST_YAML] + "\n# … the rest is in config.yaml\n"
    return shown, HIDDEN in shown
