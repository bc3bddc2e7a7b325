"""The typed configuration of a run, checked as a whole before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from merlinkit.data.csv_options import CsvOptions
from merlinkit.data.splits import SPLITS, Split
from merlinkit.data.synthetic import PRESETS, LogSpec
from merlinkit.dtypes import dtype_from_name
from merlinkit.errors import ConfigError, MerlinkitError, ParameterError, did_you_mean
from merlinkit.models.registry import check_model
from merlinkit.pipeline.engine_config import EngineConfig
from merlinkit.pipeline.features import features_graph
from merlinkit.pipeline.sections import as_mapping, build
from merlinkit.training.config import TrainerConfig
from merlinkit.workflow.graph import Node

__all__ = [
    "DatasetConfig",
    "GenerateConfig",
    "LoaderConfig",
    "ModelConfig",
    "RunConfig",
    "read_config",
]


@dataclass(frozen=True)
class DatasetConfig:
    """Where the rows come from.

    Parameters
    ----------
    kind
        ``"files"``, ``"movielens_100k"`` or ``"synthetic"``.
    name
        Name for reports and the run directory.
    path, format, csv, dtypes, columns, fields, missing_columns, hive_partitioning
        For files: see `merlinkit.Dataset`.
    synthetic
        For generated logs.
    user, item, time
        Names of the columns that other sections refer to.
    """

    kind: str
    name: str
    path: str | list[str] | None = None
    format: str | None = None
    csv: CsvOptions | None = None
    dtypes: Mapping[str, str] | None = None
    columns: Sequence[str] | None = None
    fields: Mapping[str, str] | None = None
    missing_columns: str = "error"
    hive_partitioning: bool | None = None
    synthetic: LogSpec | None = None
    user: str | None = None
    item: str | None = None
    time: str | None = None


@dataclass(frozen=True)
class LoaderConfig:
    """How batches are read: rows held decoded at once, and batches made ahead."""

    buffer_rows: int = 1_000_000
    prefetch: int = 2

    def __post_init__(self) -> None:
        _require_whole("loader.buffer_rows", self.buffer_rows, 2)
        _require_whole("loader.prefetch", self.prefetch, 0)


@dataclass(frozen=True)
class ModelConfig:
    """A model by name, and its parameters."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class GenerateConfig:
    """Where `merlinkit generate` writes, and in which format."""

    folder: str = "synthetic"
    format: str = "parquet"

    def __post_init__(self) -> None:
        if self.format not in ("parquet", "csv", "tsv", "jsonl"):
            raise ConfigError(
                f"generate.format is {self.format!r}, parquet, csv, tsv or jsonl expected"
            )


@dataclass(frozen=True)
class RunConfig:
    """All of it; `raw` is what it was read from, to be saved beside the results."""

    run_dir: Path
    seed: int
    overwrite: bool
    dataset: DatasetConfig
    split: Split
    features: Node
    engine: EngineConfig
    loader: LoaderConfig
    model: ModelConfig
    trainer: TrainerConfig
    generate: GenerateConfig
    raw: Mapping[str, Any]


_SECTIONS = (
    "run_dir",
    "seed",
    "overwrite",
    "dataset",
    "split",
    "features",
    "engine",
    "loader",
    "model",
    "trainer",
    "generate",
)


def read_config(raw: Mapping[str, Any], run_dir: Path | None = None) -> RunConfig:
    """Return the typed configuration.

    Parameters
    ----------
    raw
        Plain values: mappings, lists, strings, numbers.
    run_dir
        The run directory; None takes that of `raw`.

    Raises
    ------
    ConfigError
        Naming every problem at once, each with its key.
    """
    problems: list[str] = []
    for key in raw:
        if key not in _SECTIONS:
            problems.append(f"{key} is not a setting.{did_you_mean(str(key), _SECTIONS)}")
    seed = raw.get("seed", 42)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        problems.append(f"seed is {seed!r}, a whole number of at least 0 expected")
        seed = 42
    overwrite = raw.get("overwrite", False)
    if not isinstance(overwrite, bool):
        problems.append(f"overwrite is {overwrite!r}, true or false expected")
    directory = run_dir or raw.get("run_dir")
    if not isinstance(directory, str | Path) or not str(directory):
        problems.append(f"run_dir is {directory!r}, the name of a folder expected")
        directory = "."
    dataset = _dataset(as_mapping("dataset", raw.get("dataset"), problems), seed, problems)
    split = _split(as_mapping("split", raw.get("split"), problems), problems)
    features = features_graph(raw.get("features"), problems)
    engine = build(
        EngineConfig, "engine", as_mapping("engine", raw.get("engine"), problems), problems
    )
    loader = build(
        LoaderConfig, "loader", as_mapping("loader", raw.get("loader"), problems), problems
    )
    model = _model(as_mapping("model", raw.get("model"), problems), problems)
    trainer = build(
        TrainerConfig, "trainer", as_mapping("trainer", raw.get("trainer"), problems), problems
    )
    generate = build(
        GenerateConfig,
        "generate",
        as_mapping("generate", raw.get("generate", {}), problems),
        problems,
    )
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    # Each is only None when it left a problem behind.
    assert dataset and split and features and engine and loader and model and trainer and generate
    return RunConfig(
        Path(directory),
        seed,
        overwrite,
        dataset,
        split,
        features,
        engine,
        loader,
        model,
        trainer,
        generate,
        raw,
    )


_ROLES = ("user", "item", "time")
_FILE_KEYS = (
    "path",
    "format",
    "csv",
    "dtypes",
    "columns",
    "fields",
    "missing_columns",
    "hive_partitioning",
)


def _dataset(values: dict[str, Any], seed: int, problems: list[str]) -> DatasetConfig | None:
    kind = values.pop("kind", None)
    kinds = ("files", "movielens_100k", "synthetic")
    if kind not in kinds:
        if values or kind is not None:
            problems.append(
                f"dataset.kind is {kind!r}, one of {', '.join(kinds)} expected."
                f"{did_you_mean(str(kind), kinds)}"
            )
        return None
    before = len(problems)
    name = values.pop("name", None) or kind
    roles = {role: values.pop(role, None) for role in _ROLES}
    for role, column in roles.items():
        if column is not None and not isinstance(column, str):
            problems.append(f"dataset.{role} is {column!r}, the name of a column expected")
    synthetic: LogSpec | None = None
    files: dict[str, Any] = {}
    if kind == "synthetic":
        if values.get("seed") is None:
            values["seed"] = seed
        preset = values.pop("preset", "clicks")
        if preset in PRESETS:
            spec = build(PRESETS[preset].spec, "dataset", values, problems)
            synthetic = cast("LogSpec | None", spec)
        else:
            problems.append(
                f"dataset.preset is {preset!r}, one of {', '.join(PRESETS)} expected."
                f"{did_you_mean(str(preset), PRESETS)}"
            )
    elif kind == "movielens_100k":
        for key in values:
            problems.append(
                f"dataset.{key} is not a setting.{did_you_mean(key, _ROLES)} This data set comes "
                f"as it is; it takes name, {', '.join(_ROLES)}."
            )
    else:
        files = _files(values, problems)
    if len(problems) > before:
        return None
    return DatasetConfig(kind=kind, name=str(name), synthetic=synthetic, **roles, **files)


def _files(values: dict[str, Any], problems: list[str]) -> dict[str, Any]:
    for key in values:
        if key not in _FILE_KEYS:
            problems.append(
                f"dataset.{key} is not a setting.{did_you_mean(key, _FILE_KEYS)} Files take "
                f"{', '.join(_FILE_KEYS)}."
            )
    path = values.get("path")
    if not (isinstance(path, str) and path) and not (
        isinstance(path, list) and path and all(isinstance(item, str) for item in path)
    ):
        problems.append(
            f"dataset.path is {path!r}; give a file, a folder, a glob such as 'logs/*.parquet', or "
            "a list of them"
        )
    csv = None
    if values.get("csv") is not None:
        section = as_mapping("dataset.csv", values["csv"], problems)
        given = {key: value for key, value in section.items() if value is not None}
        # Quotes may be switched off, so there null means something.
        if "quote_char" in section:
            given["quote_char"] = section["quote_char"]
        # YAML's null and the word are one to whoever writes it.
        if "missing_fields" in section and section["missing_fields"] is None:
            given["missing_fields"] = "null"
        csv = build(CsvOptions, "dataset.csv", given, problems)
        if csv == CsvOptions():
            # All as by default, which the files may well not be csv for.
            csv = None
    dtypes = values.get("dtypes")
    if dtypes is not None:
        dtypes = as_mapping("dataset.dtypes", dtypes, problems)
        for column, dtype in dtypes.items():
            try:
                dtype_from_name(dtype)
            except (MerlinkitError, AttributeError) as error:
                problems.append(f"dataset.dtypes.{column}: {error}")
    columns = values.get("columns")
    if columns is not None and not isinstance(columns, list):
        problems.append(f"dataset.columns is {columns!r}, a list of names expected")
    fields = values.get("fields")
    if fields is not None:
        fields = as_mapping("dataset.fields", fields, problems)
    missing = values.get("missing_columns", "error")
    missing = "null" if missing is None else missing
    if missing not in ("error", "null"):
        problems.append(f"dataset.missing_columns is {missing!r}, error or null expected")
    hive = values.get("hive_partitioning")
    if hive is not None and not isinstance(hive, bool):
        problems.append(f"dataset.hive_partitioning is {hive!r}, true, false or null expected")
    return {
        "path": path,
        "format": values.get("format"),
        "csv": csv,
        "dtypes": dtypes,
        "columns": columns,
        "fields": fields,
        "missing_columns": missing,
        "hive_partitioning": hive,
    }


def _split(values: dict[str, Any], problems: list[str]) -> Split | None:
    kind = values.pop("kind", None)
    if kind not in SPLITS:
        problems.append(
            f"split.kind is {kind!r}, one of {', '.join(SPLITS)} expected."
            f"{did_you_mean(str(kind), SPLITS)}"
        )
        return None
    given = {key: value for key, value in values.items() if value is not None}
    return build(SPLITS[kind], "split", given, problems)


def _model(values: dict[str, Any], problems: list[str]) -> ModelConfig | None:
    name = values.pop("name", None)
    if not isinstance(name, str):
        problems.append(f"model.name is {name!r}, the name of a model expected")
        return None
    try:
        check_model(name, values)
    except ParameterError as error:
        problems.append(f"model: {error}")
        return None
    return ModelConfig(name, values)


def _require_whole(key: str, value: object, minimum: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ConfigError(f"{key} is {value!r}, a whole number of at least {minimum} expected")
