"""Every shipped configuration composes, is valid, and its plans are proved on cuDF."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from merlinkit.cli.conf_dir import conf_dir
from merlinkit.pipeline.config import read_config
from merlinkit.pipeline.plan_view import prove_steps
from merlinkit.pipeline.preflight import check_against_data
from merlinkit.pipeline.source import peek

# What each choice needs besides itself to be complete.
NEEDS = {
    "dataset=files": ["dataset.path=logs.parquet", "features=synthetic"],
    "dataset=criteo_files": ["dataset.path=day_0.gz", "features=criteo"],
    "split=given": ["split.column=device"],
    "features=files": None,  # says that it is empty; see test_errors.py
}
DATASETS = ("movielens_100k", "synthetic", "criteo")


def choices() -> list[str]:
    return [
        f"{path.parent.name}={path.stem}"
        for path in sorted(conf_dir().glob("*/*.yaml"))
        if NEEDS.get(f"{path.parent.name}={path.stem}", []) is not None
    ]


def configuration(*overrides: str):
    with initialize_config_dir(config_dir=str(conf_dir()), version_base="1.3"):
        cfg = compose("config", overrides=list(overrides))
    plain = OmegaConf.to_container(cfg, resolve=True)
    plain.pop("experiment", None)
    return read_config(plain, Path("out"))


@pytest.mark.parametrize("choice", choices())
def test_every_choice_is_valid(choice):
    needed = NEEDS.get(choice) or []
    given = [choice, *needed]
    config = configuration(*given)
    assert config.raw[choice.split("=")[0]]


@pytest.mark.parametrize("dataset", DATASETS)
def test_defaults_of_each_data_set_fit_it(dataset):
    config = configuration(f"dataset={dataset}")
    schema = peek(config.dataset).schema
    check_against_data(config, schema, needs_target=True)


@pytest.mark.parametrize("dataset", DATASETS)
def test_plans_of_each_data_set_run_on_cudf(dataset):
    config = configuration(f"dataset={dataset}")
    schema = peek(config.dataset).schema
    steps = prove_steps(config, schema)
    assert any(item.step == "transform" for item, _, _ in steps)
    for item, verdict, fine in steps:
        assert fine, (item.step, item.detail, verdict)
    # The only thing outside of plans is the splitting of strings into lists.
    outside = [item.step for item, _, _ in steps if item.plan is None]
    assert all(step.startswith("split '") for step in outside)
