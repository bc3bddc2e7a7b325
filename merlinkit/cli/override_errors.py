"""What is wrong with overrides, all of them at once, in words that say what to write instead."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from merlinkit.cli.search_path import PRIMARY, user_files_first
from merlinkit.errors import ConfigError, did_you_mean

__all__ = ["explain", "refuse_values_of_groups"]

_UNKNOWN_KEY = re.compile(r"Could not override '([^']+)'")
_UNKNOWN_CHOICE = re.compile(r"(?:Could not find|In '[^']+': Could not find) '([^']+)'")


def explain(
    error: HydraException, conf: Path, user_conf: Path | None, overrides: list[str]
) -> ConfigError:
    """Return an error that names every override that cannot be applied.

    Parameters
    ----------
    error
        What Hydra raised; it stops at the first problem.
    conf, user_conf
        Folders of configuration files.
    overrides
        What the user wrote.
    """
    groups = _groups(conf, user_conf)
    choices = [item for item in overrides if item.split("=")[0] in groups]
    problems: list[str] = []
    good_choices: list[str] = []
    for item in choices:
        group, _, choice = item.partition("=")
        # A sweep names several, separated by commas.
        for single in choice.split(","):
            if single not in groups[group] and single != "null":
                known = sorted(groups[group])
                there = (
                    f"{group} can be {', '.join(known)}" if known else f"no {group} is there yet"
                )
                problems.append(
                    f"{group}={single}: no such choice.{did_you_mean(single, known)} "
                    f"{there}; your own go to conf/{group}/NAME.yaml"
                )
            elif "," not in choice:
                good_choices.append(item)
    keys: list[str] | None = None
    for item in overrides:
        if item in choices:
            continue
        failure = _failure(conf, user_conf, [*good_choices, item])
        if failure is None:
            continue
        match = _UNKNOWN_KEY.search(str(failure))
        if match is None:
            problems.append(_unreadable(item, str(failure)))
            continue
        if keys is None:
            keys = [*_keys(conf, user_conf, good_choices), *groups]
        problems.append(
            _of_another_choice(match[1], conf, user_conf, groups)
            or f"{match[1]} is not a setting.{_near(match[1], keys)}"
        )
    if not problems:
        problems.append(" ".join(str(error).split()))
    return ConfigError(problems)


def refuse_values_of_groups(conf: Path, user_conf: Path | None, overrides: list[str]) -> None:
    """Raise for groups that are given a list or mapping, of which Hydra makes a traceback."""
    groups = _groups(conf, user_conf)
    problems = [
        f"{group}= takes the name of a file; write the value into conf/{group}/NAME.yaml and say "
        f"{group}=NAME"
        for group, _, choice in (item.partition("=") for item in overrides)
        if group in groups and choice.startswith(("[", "{"))
    ]
    if problems:
        raise ConfigError(problems)


def _unreadable(item: str, why: str) -> str:
    """Return what to write instead of an override that Hydra's grammar does not read."""
    key, _, value = item.partition("=")
    reason = why.strip().splitlines()[0]
    if value[:1] in "[{'\"" or not value:
        return f"{item}: {reason}"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    quoted = shlex.quote(f"{key}='{escaped}'")
    more = ""
    if "," in value:
        listed = shlex.quote(f"{key}=[{value}]")
        more = f"; for a list write {listed}, and for a run with each of them add -m"
    return f"{item}: characters such as spaces, commas and brackets need quotes: {quoted}{more}"


def _of_another_choice(
    key: str, conf: Path, user_conf: Path | None, groups: Mapping[str, set[str]]
) -> str | None:
    """Say which other choices of its group have a key, None if none has."""
    group = key.partition(".")[0]
    having = [
        f"{group}={choice}"
        for choice in sorted(groups.get(group, ()))
        if key in _keys(conf, user_conf, [f"{group}={choice}"])
    ]
    return f"{key} goes with {' or '.join(having)}" if having else None


def _near(key: str, keys: list[str]) -> str:
    """Suggest keys: of the whole name, else those whose last part is near."""
    hint = did_you_mean(key, keys)
    if hint:
        return hint
    last = key.rsplit(".", 1)[-1]
    return did_you_mean(last, [name for name in keys if name.rsplit(".", 1)[-1] == last] or keys)


def _groups(conf: Path, user_conf: Path | None) -> dict[str, set[str]]:
    """Return the choices of each group."""
    # None is shipped of this one.
    found: dict[str, set[str]] = {"experiment": set()}
    for folder in (conf, user_conf):
        if folder is None:
            continue
        for group in sorted(path for path in folder.iterdir() if path.is_dir()):
            names = {path.stem for path in group.glob("*.yaml")}
            found.setdefault(group.name, set()).update(names)
    return found


def _compose(conf: Path, user_conf: Path | None, overrides: list[str]) -> DictConfig:
    GlobalHydra.instance().clear()
    with (
        user_files_first(user_conf),
        initialize_config_dir(config_dir=str(conf), version_base="1.3", job_name="merlinkit"),
    ):
        return compose(PRIMARY, overrides=overrides, return_hydra_config=False)


def _failure(conf: Path, user_conf: Path | None, overrides: list[str]) -> HydraException | None:
    try:
        _compose(conf, user_conf, overrides)
    except HydraException as error:
        return error
    return None


def _keys(conf: Path, user_conf: Path | None, choices: list[str]) -> list[str]:
    try:
        plain = OmegaConf.to_container(_compose(conf, user_conf, choices))
    except HydraException:
        return []
    return list(_flat("", plain))


def _flat(prefix: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            name = f"{prefix}.{key}" if prefix else str(key)
            yield name
            yield from _flat(name, item)
