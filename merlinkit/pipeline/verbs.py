"""The verbs that work in a run directory: run, etl, train, evaluate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from merlinkit.errors import RunDirError
from merlinkit.events import EventLog
from merlinkit.pipeline.config import RunConfig, read_config
from merlinkit.pipeline.console import Console
from merlinkit.pipeline.engine_config import EngineConfig
from merlinkit.pipeline.etl import run_etl
from merlinkit.pipeline.evaluate import run_evaluate
from merlinkit.pipeline.preflight import preflight
from merlinkit.pipeline.run_dir import (
    DATA_SECTIONS,
    MODEL_SECTIONS,
    RunDir,
    clear,
    open_run_dir,
    read_record,
    read_saved_config,
)
from merlinkit.pipeline.stage import Reporter
from merlinkit.pipeline.train import TRAIN_STARTED, has_model, run_train
from merlinkit.pipeline.write_errors import write_errors
from merlinkit.report.page import write_report

__all__ = ["etl", "evaluate", "run", "train"]

Metrics = dict[str, dict[str, Any]]


def run(raw: Mapping[str, Any], run_dir: Path, command: str, console: Console) -> Metrics:
    """Do everything: data, features, training, evaluation, report.

    A run that was killed is continued by the same call; complete stages are not done again.

    Parameters
    ----------
    raw
        The configuration as plain values.
    run_dir
        The run directory.
    command
        What was typed.
    console
        Where progress goes.

    Returns
    -------
    dict
        Metrics by part.
    """
    config = read_config(raw, run_dir)
    dataset = preflight(config, needs_target=True)

    def work(opened: RunDir, reporter: Reporter) -> Metrics:
        opened.save_config(config.raw, config.raw)
        made_from = run_etl(config, opened, reporter, dataset)
        trained_from = run_train(config, opened, reporter, made_from)
        return run_evaluate(config, opened, reporter, trained_from)

    return _in_run_dir(config, command, console, work, (*DATA_SECTIONS, *MODEL_SECTIONS))


def etl(raw: Mapping[str, Any], run_dir: Path, command: str, console: Console) -> Metrics:
    """Process the data; parameters as in `run`."""
    config = read_config(raw, run_dir)
    dataset = preflight(config, needs_target=False)

    def work(opened: RunDir, reporter: Reporter) -> Metrics:
        run_etl(config, opened, reporter, dataset)
        return {}

    return _in_run_dir(config, command, console, work, DATA_SECTIONS)


def train(
    raw: Mapping[str, Any],
    run_dir: Path,
    command: str,
    console: Console,
    overridden: Sequence[str] = (),
) -> Metrics:
    """Train on what etl left in the run directory; a model of another configuration is kept.

    With ``overwrite`` such a model is deleted, the processed data stays.

    Parameters
    ----------
    raw, run_dir, command, console
        As in `run`; the sections about data are taken from the run directory.
    overridden
        Sections that the user set on the command line; those about data are refused.
    """
    config = read_config(_with_saved(raw, run_dir, DATA_SECTIONS, overridden, "etl"), run_dir)

    def work(opened: RunDir, reporter: Reporter) -> Metrics:
        trained_from = run_train(config, opened, reporter, _fingerprint_of(opened, "etl"))
        return run_evaluate(config, opened, reporter, trained_from)

    return _in_run_dir(config, command, console, work, MODEL_SECTIONS)


def evaluate(
    raw: Mapping[str, Any],
    run_dir: Path,
    command: str,
    console: Console,
    overridden: Sequence[str] = (),
) -> Metrics:
    """Measure the model that the run directory holds; parameters as in `train`."""
    sections = (*DATA_SECTIONS, "model", "trainer")
    config = read_config(_with_saved(raw, run_dir, sections, overridden, "train"), run_dir)

    def work(opened: RunDir, reporter: Reporter) -> Metrics:
        return run_evaluate(config, opened, reporter, _fingerprint_of(opened, "train"))

    return _in_run_dir(config, command, console, work)


def _in_run_dir(
    config: RunConfig,
    command: str,
    console: Console,
    work: Callable[[RunDir, Reporter], Metrics],
    same: Sequence[str] = (),
) -> Metrics:
    """Do the work of a verb in its run directory, write the report and print the result.

    ``same`` names the sections in which an earlier run in the folder must not differ. Which
    sections are saved is the matter of the work itself.
    """

    def check() -> None:
        _require_same_run(config, same)

    with (
        write_errors(config.run_dir),
        open_run_dir(config.run_dir, command, config.seed, config.engine.name, check) as opened,
        EventLog(config.run_dir / "events.jsonl") as events,
    ):
        metrics = work(opened, Reporter(events, console))
    # After the run is marked complete, so that the page says so.
    page = write_report(config.run_dir)
    _print_result(metrics, page)
    return metrics


def _print_result(metrics: Metrics, page: Path) -> None:
    """Print metrics and the path of the report to standard output."""
    console = Console(soft_wrap=True)
    if metrics:
        table = Table("metric", *metrics)
        for name in dict.fromkeys(name for values in metrics.values() for name in values):
            table.add_row(name, *(_cell(name, values.get(name)) for values in metrics.values()))
        console.print(table)
    console.print(f"report: {page}", markup=False, highlight=False)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if name == "rows" else f"{value:.4f}"


def _require_same_run(config: RunConfig, sections: Sequence[str]) -> None:
    """Raise unless the folder is free, of the same configuration, or may be overwritten."""
    makes_data = bool(set(sections) & set(DATA_SECTIONS))
    try:
        saved = read_saved_config(config.run_dir)
        record = read_record(config.run_dir)
    except RunDirError as error:
        if not makes_data:
            raise
        if not config.overwrite:
            raise RunDirError(f"{error}, or set overwrite=true to delete what is there") from error
        clear(config.run_dir)
        return
    if saved is None:
        return
    # After etl alone, or a training that got nowhere, a model of any kind may follow. Without a
    # record, a kill came while the folder was being cleared.
    trained = record is None or (TRAIN_STARTED in record["stages"] and has_model(config.run_dir))
    differing = [
        name
        for name in sections
        if (trained or name not in MODEL_SECTIONS) and _differ(name, saved, config.raw)
    ]
    if not differing:
        return
    keeps_data = not set(differing) & set(DATA_SECTIONS)
    if config.overwrite:
        # Training deletes the model itself, once it knows that it can make another.
        if not keeps_data:
            clear(config.run_dir)
        return
    complete = record is not None and record["status"] == "complete"
    held = "a complete earlier run" if complete else "an unfinished earlier run"
    raise RunDirError(
        f"run_dir {config.run_dir} holds {held} with another configuration "
        f"({', '.join(differing)} differ, see {config.run_dir / 'config.yaml'}); choose another "
        "run_dir, call it with the same configuration to continue it, or set overwrite=true to "
        f"delete {'its model; the processed data stays' if keeps_data else 'it'}"
    )


def _differ(section: str, saved: Mapping[str, Any], raw: Mapping[str, Any]) -> bool:
    """Tell whether a section says something else; where the work is done does not matter."""
    if section == "engine":
        return EngineConfig.deciding(saved.get(section)) != EngineConfig.deciding(raw.get(section))
    return bool(saved.get(section) != raw.get(section))


def _with_saved(
    raw: Mapping[str, Any],
    run_dir: Path,
    sections: Sequence[str],
    overridden: Sequence[str],
    before: str,
) -> dict[str, Any]:
    """Return the configuration with sections taken from what an earlier verb saved."""
    saved = read_saved_config(run_dir)
    if saved is None:
        raise RunDirError(
            f"run_dir {run_dir} holds no run; call {before} first, with the same run_dir="
        )
    refused = [name for name in sections if name in overridden and name != "seed"]
    if "seed" in overridden and raw.get("seed") != saved.get("seed"):
        refused.append("seed")
    if refused:
        raise RunDirError(
            f"{', '.join(refused)} cannot be changed here: run_dir {run_dir} was made with its "
            f"own; call {before} with the change"
        )
    taken = {name: saved[name] for name in sections if name in saved}
    return {**raw, **taken}


def _fingerprint_of(opened: RunDir, stage: str) -> str:
    details = opened.stage_details(stage)
    if details is None:
        raise RunDirError(
            f"run_dir {opened.path} has no complete {stage} stage; call {stage} (or run) first, "
            "with the same run_dir"
        )
    return str(details["fingerprint"])
