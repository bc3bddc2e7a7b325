"""Verbs that take a Hydra configuration."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import (
    InterpolationResolutionError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from merlinkit.cli.conf_dir import conf_dir, take_config_dir, user_conf_dir
from merlinkit.cli.help import print_verb_help
from merlinkit.cli.override_errors import explain, refuse_values_of_groups
from merlinkit.cli.search_path import PRIMARY, user_files_first
from merlinkit.errors import ConfigError, MerlinkitError, RunDirError
from merlinkit.pipeline.console import Console

__all__ = ["run_verb"]

_IN_RUN_DIR = ("run", "etl", "train", "evaluate")
_NEEDS_RUN_DIR = ("train", "evaluate")
# Hydra's own flags that print something and end.
_INFORMATIVE = ("--cfg", "-c", "--info", "-i", "--resolve", "--package", "-p", "--hydra-help")


def run_verb(verb: str, title: str, rest: list[str], console: Console) -> int:
    """Compose the configuration with Hydra and run a verb on it.

    Parameters
    ----------
    verb
        Its name.
    title
        What it does, for its help.
    rest
        Overrides and Hydra's own flags.
    console
        Where progress and errors go.

    Returns
    -------
    int
        The exit code.
    """
    if any(flag in rest for flag in ("-h", "--help")):
        print_verb_help(verb, title, conf_dir(), Console())
        return 0
    overrides = [item for item in rest if "=" in item and not item.startswith("-")]
    informative = any(item.split("=")[0] in _INFORMATIVE for item in rest)
    given_dir, arguments = take_config_dir(rest)
    user_dir = given_dir or user_conf_dir()
    if verb == "generate" and not any(item.startswith("dataset=") for item in overrides):
        arguments.append("dataset=synthetic")
        overrides.append("dataset=synthetic")
    if verb not in _IN_RUN_DIR:
        # Hydra makes this folder; a verb without results must not leave one behind.
        arguments.append("hydra.run.dir=.")
    named = any(item.startswith("run_dir=") for item in overrides)
    if verb in _NEEDS_RUN_DIR and not informative and not named:
        raise RunDirError(f"say which run to {verb} in: merlinkit {verb} run_dir=runs/...")
    refuse_values_of_groups(conf_dir(), user_dir, overrides)
    command = ["merlinkit", verb, *rest]
    failures: list[BaseException] = []

    def task(cfg: DictConfig) -> float | None:
        if failures:
            return None
        try:
            return _work(verb, cfg, command, overrides, console)
        except BaseException as error:
            # Raised after Hydra is done, which would print more about it than people can use.
            failures.append(error)
            return None

    with _hydra_raises(["merlinkit", *arguments]), user_files_first(user_dir):
        try:
            hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name=PRIMARY)(task)()
        except HydraException as error:
            raise explain(error, conf_dir(), user_dir, overrides) from error
        except OmegaConfBaseException as error:
            raise ConfigError(_one_line(error)) from error
        except OSError as error:
            # Hydra makes the run directory before anything of ours runs.
            if error.filename is None:
                raise
            raise RunDirError(
                f"{error.filename} cannot be written: {error.strerror}; choose another folder "
                "with run_dir="
            ) from error
    if failures:
        raise failures[0]
    return 0


def _work(
    verb: str, cfg: DictConfig, command: list[str], overrides: list[str], console: Console
) -> float | None:
    """Run a verb on a composed configuration; return what a sweeper may optimise."""
    if verb == "plan":
        from merlinkit.pipeline.plan_view import show_plan

        show_plan(_plain(cfg), Console())
        return None
    if verb == "generate":
        from merlinkit.pipeline.generate import generate_logs

        generate_logs(_plain(cfg), console)
        return None
    folder = Path(HydraConfig.get().runtime.output_dir)
    overridden = [item.lstrip("+~").split("=")[0].split(".")[0] for item in overrides]
    try:
        raw = {**_plain(cfg), "run_dir": str(folder)}
        metrics = _run_in(verb, raw, folder, shlex.join(command), console, overridden)
    except MerlinkitError:
        _remove_if_empty(folder, parents=0 if "run_dir" in overridden else 2)
        raise
    except KeyboardInterrupt:
        again = command if "run_dir" in overridden else [*command, f"run_dir={folder}"]
        hint = f"to continue: {shlex.join(again)}"
        console.print(hint, markup=False, highlight=False, soft_wrap=True)
        raise
    return _objective(metrics, raw)


def _run_in(
    verb: str,
    raw: dict[str, Any],
    folder: Path,
    typed: str,
    console: Console,
    overridden: list[str],
) -> dict[str, dict[str, Any]]:
    """Run a verb that works in a run directory."""
    from merlinkit.pipeline import verbs

    if verb == "run":
        return verbs.run(raw, folder, typed, console)
    if verb == "etl":
        return verbs.etl(raw, folder, typed, console)
    if verb == "train":
        return verbs.train(raw, folder, typed, console, overridden)
    return verbs.evaluate(raw, folder, typed, console, overridden)


def _objective(metrics: dict[str, dict[str, Any]], raw: dict[str, Any]) -> float | None:
    """Return the monitored metric of the validation part, for sweepers."""
    valid = metrics.get("valid", {})
    for name in (raw.get("trainer", {}).get("monitor"), "auc", "rmse"):
        if name is not None and valid.get(name) is not None:
            return float(valid[name])
    return None


def _plain(cfg: DictConfig) -> dict[str, Any]:
    """Return a configuration as plain values, every interpolation resolved."""
    try:
        missing = sorted(OmegaConf.missing_keys(cfg))
        if missing:
            raise ConfigError([f"{key} is missing; set it with {key}=..." for key in missing])
        plain = OmegaConf.to_container(cfg, resolve=True)
    except (InterpolationResolutionError, MissingMandatoryValue) as error:
        raise ConfigError(_one_line(error)) from error
    assert isinstance(plain, dict)
    plain.pop("experiment", None)
    return {str(key): value for key, value in plain.items()}


def _remove_if_empty(folder: Path, parents: int) -> None:
    """Take back the folders that Hydra made for a run that never began."""
    with suppress(OSError):
        for empty in (folder, *list(folder.parents)[:parents]):
            empty.rmdir()


def _one_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


@contextmanager
def _hydra_raises(arguments: list[str]) -> Iterator[None]:
    """Let Hydra read these arguments, and raise errors instead of printing and exiting."""
    saved_arguments, saved_flag = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = arguments
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        sys.argv = saved_arguments
        if saved_flag is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = saved_flag
