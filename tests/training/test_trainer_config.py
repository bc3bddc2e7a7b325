"""Settings are checked together, before any work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from merlinkit.errors import ConfigError
from merlinkit.training import TrainerConfig


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("epochs", 1.5),
        ("epochs", True),
        ("batch_size", -1),
        ("eval_batch_size", "many"),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("learning_rate", None),
        ("embedding_learning_rate", -0.1),
        ("optimizer", "rmsprop"),
        ("optimizer", None),
        ("weight_decay", -1),
        ("schedule", "cosin"),
        ("warmup_steps", -1),
        ("gradient_clip", 0),
        ("validate_every", "step"),
        ("validate_every", 0),
        ("monitor", "acc"),
        ("early_stopping_patience", 0),
        ("early_stopping_min_delta", -0.1),
        ("checkpoint_every_epochs", 0),
        ("log_every_steps", 0),
        ("seed", -1),
        ("device", "gpu"),
        ("tensorboard", "yes"),
        ("progress", 1),
    ],
)
def test_a_value_that_cannot_be_is_named(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"^trainer\.{name} must be ") as caught:
        TrainerConfig(**{name: value})
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 1},
        {"embedding_learning_rate": None},
        {"weight_decay": 0},
        {"gradient_clip": 1},
        {"validate_every": 10},
        {"validate_every": "epoch"},
        {"monitor": "logloss", "early_stopping_patience": 3},
        {"seed": 0, "warmup_steps": 0},
    ],
)
def test_values_that_can_be(settings: dict[str, Any]) -> None:
    config = TrainerConfig(**settings)
    assert TrainerConfig.from_mapping(json.loads(json.dumps(config.to_dict()))) == config


def test_all_problems_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        TrainerConfig.from_mapping({"epochs": 0, "lerning_rate": 1, "optimizer": "adm", "seed": 1})
    assert [problem.split(" ")[0] for problem in caught.value.problems] == [
        "trainer.lerning_rate",
        "trainer.epochs",
        "trainer.optimizer",
    ]
    assert "Did you mean 'learning_rate'" in caught.value.problems[0]
    assert "Did you mean 'adam'" in caught.value.problems[2]
