"""What ``dataset=files`` says of uneven and nested files reaches the reader."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from merlinkit.cli.conf_dir import conf_dir
from merlinkit.errors import ConfigError, DataError
from merlinkit.pipeline.config import DatasetConfig, read_config
from merlinkit.pipeline.source import peek


def configured(path: Path, *overrides: str) -> DatasetConfig:
    given = ["dataset=files", f"dataset.path='{path}'", "features=synthetic", *overrides]
    with initialize_config_dir(config_dir=str(conf_dir()), version_base="1.3"):
        plain = OmegaConf.to_container(compose("config", overrides=given), resolve=True)
    assert isinstance(plain, dict)
    plain.pop("experiment", None)
    return read_config({str(key): value for key, value in plain.items()}, Path("out")).dataset


def test_columns_that_a_file_lacks_are_an_error_or_null(tmp_path: Path) -> None:
    pl.DataFrame({"x": [1], "y": [2]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"column 'y' is missing in .*b\.parquet"):
        peek(configured(tmp_path))
    found = peek(configured(tmp_path, "dataset.missing_columns='null'"))
    schema, rows = found.schema, found.rows
    assert (schema.names, rows) == (["x", "y"], 2)
    with pytest.raises(ConfigError, match=r"dataset\.missing_columns is 'skip', error or null"):
        configured(tmp_path, "dataset.missing_columns=skip")


def test_nested_values_are_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "user": {"address": {"city": "Rome"}}}\n')
    schema = peek(configured(tmp_path, "dataset.fields={city: user.address.city}")).schema
    assert dict(schema.to_polars()) == {"id": pl.Int64, "city": pl.String}
    with pytest.raises(ConfigError, match=r"dataset\.fields"):
        configured(tmp_path, "dataset.fields=[city]")


def test_null_written_without_quotes_is_not_taken_for_error(tmp_path: Path) -> None:
    config = configured(tmp_path, "dataset.missing_columns=null", "dataset.csv.missing_fields=null")
    assert config.missing_columns == "null"
    assert config.csv is not None
    assert config.csv.missing_fields == "null"
