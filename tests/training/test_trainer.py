"""Training: it learns, logs, stops, refuses and reports."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import log_loss, roc_auc_score

from merlinkit.errors import ConfigError, DataError, MerlinkitError, RunDirError, SchemaError
from merlinkit.events import EventLog, read_events
from merlinkit.schema import Column, Domain, Schema
from merlinkit.training import Trainer, TrainingDiverged


@pytest.mark.parametrize(
    ("optimizer", "rate"), [("adam", 0.02), ("adamw", 0.02), ("adagrad", 0.1), ("sgd", 0.5)]
)
def test_learns_the_planted_signal(toy: Any, run_dir: Path, optimizer: str, rate: float) -> None:
    trainer = toy.trainer(epochs=4, optimizer=optimizer, learning_rate=rate)
    model = toy.model()
    before = trainer.evaluate(model, toy.valid_loader())
    result = trainer.fit(model, toy.train_loader(2000), toy.valid_loader(1000), run_dir)
    assert before["auc"] < 0.65
    assert result.best.metrics["auc"] > 0.8
    assert result.history[0].train_loss > result.history[-1].train_loss


def test_result_and_events(toy: Any, run_dir: Path) -> None:
    trainer = toy.trainer(epochs=2, schedule="linear", warmup_steps=2)
    with EventLog(run_dir / "events.jsonl") as events:
        result = trainer.fit(toy.model(), toy.train_loader(), toy.valid_loader(), run_dir, events)
    # 400 rows in batches of 32 are 13 steps an epoch.
    assert (result.steps, result.epochs, result.stopped_early) == (26, 2, False)
    assert result.monitor == "auc" and result.seconds > 0 and result.samples_per_second > 0
    assert [item.step for item in result.history] == [13, 26]

    train = read_events(run_dir / "events.jsonl", kind="train")
    # Every 5 steps and at the end of each epoch.
    assert [(e["step"], e["epoch"]) for e in train] == [
        *[(step, 1) for step in (5, 10, 13)],
        *[(step, 2) for step in (15, 20, 25, 26)],
    ]
    # Step 5 is the fifth: three steps after the warm-up of 2 began the fall over 24.
    assert train[0]["lr"] == pytest.approx(0.01 * (1 - 2 / 24))
    assert train[-1]["lr"] == pytest.approx(0.01 / 24)
    assert all(e["samples_per_second"] > 0 for e in train)
    weights = [5, 5, 3]
    epoch_loss = sum(w * e["loss"] for w, e in zip(weights, train[:3], strict=True)) / 13
    assert result.history[0].train_loss == pytest.approx(epoch_loss)

    valid = read_events(run_dir / "events.jsonl", kind="valid")
    assert [(e["step"], e["epoch"]) for e in valid] == [(13, 1), (26, 2)]
    assert valid[1]["metrics"] == dict(result.history[1].metrics)
    assert not (run_dir / "tensorboard").exists()


def test_first_loss_is_that_of_the_untrained_model(toy: Any, run_dir: Path) -> None:
    model = toy.model()
    loader = toy.train_loader(32)
    with torch.no_grad():
        logits = model(loader.rows).double().numpy()
    expected = log_loss(loader.rows["click"], 1 / (1 + np.exp(-logits)))
    result = toy.trainer().fit(model, loader, None, run_dir)
    assert result.history[0].train_loss == pytest.approx(expected, rel=1e-5)


def test_evaluate_and_predict_equal_scikit_learn(toy: Any) -> None:
    trainer, model, loader = toy.trainer(), toy.model(), toy.valid_loader()
    model.train()
    predictions = trainer.predict(model, loader)
    metrics = trainer.evaluate(model, loader)
    assert model.training
    labels = loader.rows["click"].numpy()
    assert np.array_equal(predictions.labels, labels)
    with torch.no_grad():
        assert predictions.outputs == pytest.approx(model(loader.rows).numpy(), abs=1e-6)
    assert predictions.scores == pytest.approx(1 / (1 + np.exp(-predictions.outputs)), abs=1e-6)
    assert metrics["auc"] == pytest.approx(roc_auc_score(labels, predictions.outputs), abs=1e-12)
    assert metrics["logloss"] == pytest.approx(log_loss(labels, predictions.scores), rel=1e-5)
    assert metrics["rows"] == 300


def test_predict_needs_no_target(toy: Any) -> None:
    rows = toy.rows(10)
    del rows["click"]
    predictions = toy.trainer().predict(toy.model(), toy.loader(rows, 4))
    assert predictions.outputs.shape == (10,) and predictions.labels is None


def test_predict_of_nothing_is_nothing(toy: Any) -> None:
    predictions = toy.trainer().predict(toy.model(), [])
    assert predictions.outputs.shape == predictions.scores.shape == (0,)


def test_regression(run_dir: Path, toy: Any) -> None:
    schema = Schema(
        [
            Column("user", "Int64", domain=Domain(0, 20), tags=["categorical"]),
            Column("price", "Float32", tags=["continuous"]),
            Column("spend", "Float64", tags=["target", "regression"]),
        ]
    )
    rows = toy.rows(1000)
    rows["spend"] = 3.0 + 2.0 * rows["price"].double()
    model = toy.model()
    trainer = Trainer(toy.config(epochs=8, learning_rate=0.02), schema)
    result = trainer.fit(model, toy.loader(rows), toy.loader(rows, 500), run_dir)
    assert result.monitor == "rmse"
    # The label's own spread is 2.
    assert result.best.metrics["rmse"] < 0.4
    predictions = trainer.predict(model, toy.loader(rows, 500))
    assert np.array_equal(predictions.scores, predictions.outputs)


def test_same_seed_same_curve_bit_for_bit(toy: Any, tmp_path: Path) -> None:
    def curve(name: str, seed: int) -> list[Any]:
        folder = tmp_path / name
        folder.mkdir()
        with EventLog(folder / "events.jsonl") as events:
            toy.trainer(epochs=2, seed=seed, log_every_steps=1).fit(
                toy.model(dropout=0.3), toy.train_loader(), toy.valid_loader(), folder, events
            )
        return [event["loss"] for event in read_events(folder / "events.jsonl", kind="train")]

    torch.manual_seed(1)
    first = curve("a", seed=1)
    torch.manual_seed(2)
    assert curve("b", seed=1) == first
    assert curve("c", seed=2) != first


def test_the_callers_random_state_is_left_alone(toy: Any, run_dir: Path) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    toy.trainer().fit(toy.model(dropout=0.3), toy.train_loader(), None, run_dir)
    assert torch.equal(torch.get_rng_state(), before)


def test_epochs_are_told_to_the_loader(toy: Any, run_dir: Path) -> None:
    loader = toy.train_loader()
    seen = []
    loader.before_batch = lambda epoch, batch: seen.append((epoch, batch))
    toy.trainer(epochs=2).fit(toy.model(), loader, None, run_dir)
    assert seen == [(epoch, batch) for epoch in range(2) for batch in range(13)]


class Scripted(torch.nn.Module):
    """Outputs a logit that its validation AUC can be foretold from; learns nothing useful."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(1))

    def forward(self, batch: Any) -> torch.Tensor:
        return batch["price"] * 0 + self.bias


def scripted_trainer(
    toy: Any, monkeypatch: pytest.MonkeyPatch, values: list[float | None], **settings: Any
) -> tuple[Trainer, list[float]]:
    """Return a trainer that measures given values, and the weights at each measurement."""
    trainer = toy.trainer(**settings)
    answers = iter(values)
    weights: list[float] = []

    def evaluate(model: Scripted, loader: Any) -> dict[str, float | None]:
        weights.append(model.bias.item())
        return {"auc": next(answers)}

    monkeypatch.setattr(trainer, "evaluate", evaluate)
    return trainer, weights


def test_early_stopping_keeps_the_best_weights(
    toy: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, weights = scripted_trainer(
        toy, monkeypatch, [0.6, 0.7, 0.69, 0.7], epochs=9, early_stopping_patience=2
    )
    model = Scripted()
    with EventLog(run_dir / "events.jsonl") as events:
        result = trainer.fit(model, toy.train_loader(), toy.valid_loader(), run_dir, events)
    assert result.stopped_early and result.epochs == 4
    assert result.best.epoch == 2 and result.best.metrics == {"auc": 0.7}
    assert result.best_checkpoint.name == "step-00000026"
    assert result.checkpoint.name == "step-00000052"
    assert model.bias.item() == weights[1] != weights[3]
    stop = read_events(run_dir / "events.jsonl", kind="early_stop")
    assert [(e["epoch"], e["monitor"], e["best"]) for e in stop] == [(4, "auc", 0.7)]


def test_a_gain_within_min_delta_is_no_gain(
    toy: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, _ = scripted_trainer(
        toy,
        monkeypatch,
        [0.7, 0.705, 0.709],
        epochs=9,
        early_stopping_patience=2,
        early_stopping_min_delta=0.01,
    )
    result = trainer.fit(Scripted(), toy.train_loader(), toy.valid_loader(), run_dir)
    assert (result.epochs, result.best.epoch) == (3, 1)


def test_a_stopped_training_goes_on_with_more_patience(
    toy: Any, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, _ = scripted_trainer(toy, monkeypatch, [0.7, 0.6], epochs=3, early_stopping_patience=1)
    assert trainer.fit(Scripted(), toy.train_loader(), toy.valid_loader(), run_dir).epochs == 2
    again, _ = scripted_trainer(toy, monkeypatch, [], epochs=3, early_stopping_patience=1)
    result = again.fit(Scripted(), toy.train_loader(), toy.valid_loader(), run_dir, resume=True)
    assert result.stopped_early and result.epochs == 2 and result.seconds == 0
    patient, _ = scripted_trainer(toy, monkeypatch, [0.8], epochs=3, early_stopping_patience=2)
    result = patient.fit(Scripted(), toy.train_loader(), toy.valid_loader(), run_dir, resume=True)
    assert result.epochs == 3 and result.best.metrics == {"auc": 0.8}


def test_a_metric_without_value_warns_and_keeps_the_first(
    toy: Any, run_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = toy.rows(50)
    rows["click"] = torch.zeros(50, dtype=torch.int8)
    result = toy.trainer(epochs=2).fit(toy.model(), toy.train_loader(), toy.loader(rows), run_dir)
    assert result.best.epoch == 1 and result.best.metrics["auc"] is None
    assert "auc has no value on the validation data" in caplog.text


def test_without_validation_the_last_weights_are_the_best(toy: Any, run_dir: Path) -> None:
    result = toy.trainer(epochs=3, checkpoint_every_epochs=2).fit(
        toy.model(), toy.train_loader(), None, run_dir
    )
    assert result.monitor is None and result.best.epoch == 3
    assert result.checkpoint == result.best_checkpoint


def test_validate_every_so_many_steps(toy: Any, run_dir: Path) -> None:
    result = toy.trainer(epochs=2, validate_every=13).fit(
        toy.model(), toy.train_loader(), toy.valid_loader(), run_dir
    )
    # The 13th step ends an epoch, where there is a measurement anyway.
    assert [item.step for item in result.history] == [13, 26]
    result = toy.trainer(epochs=1, validate_every=4).fit(
        toy.model(), toy.train_loader(), toy.valid_loader(), run_dir / "b"
    )
    assert [item.step for item in result.history] == [4, 8, 12, 13]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_padding_never_learns(toy: Any, run_dir: Path, optimizer: str) -> None:
    rows = toy.rows(200)
    rows["item"][::2] = 0
    model = toy.model()
    toy.trainer(epochs=2, optimizer=optimizer, weight_decay=0.1).fit(
        model, toy.loader(rows), None, run_dir
    )
    for table in model.embeddings.tables.values():
        assert not table[0].any() and table[1:].any()


def test_separate_step_sizes_and_unseen_rows(toy: Any, run_dir: Path) -> None:
    rows = toy.rows(100)
    rows["user"].clamp_(max=5)
    model = toy.model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    toy.trainer(embedding_learning_rate=1e-12, learning_rate=0.1).fit(
        model, toy.loader(rows), None, run_dir
    )
    after = model.state_dict()
    table = "embeddings.tables.column:user"
    assert torch.allclose(after[table], before[table], atol=1e-9)
    assert not torch.allclose(after["top.layers.0.weight"], before["top.layers.0.weight"])
    # Rows that no batch looked up are untouched to the bit.
    assert torch.equal(after[table][6:], before[table][6:])


def test_gradient_clip_limits_the_dense_step(toy: Any, run_dir: Path) -> None:
    def moved(folder: str, clip: float | None) -> float:
        model = toy.model()
        before = [weight.clone() for weight in model.top.parameters()]
        toy.trainer(optimizer="sgd", learning_rate=1.0, gradient_clip=clip).fit(
            model, toy.train_loader(32), None, run_dir / folder
        )
        pairs = zip(model.top.parameters(), before, strict=True)
        return math.sqrt(sum(float((new - old).detach().square().sum()) for new, old in pairs))

    assert moved("free", None) > 0.02
    # One step of size 1 along a gradient of length 0.01 for all dense weights together.
    assert 0 < moved("clipped", 0.01) <= 0.01 + 1e-6


# -- what goes wrong ----------------------------------------------------------------------------


def test_diverging_names_step_columns_and_rate_and_keeps_the_checkpoint(
    toy: Any, run_dir: Path
) -> None:
    loader = toy.train_loader()
    loader.rows["price"][:] = loader.rows["price"] * 1e30

    with pytest.raises(TrainingDiverged) as caught:
        toy.trainer(epochs=2, learning_rate=10.0).fit(toy.model(), loader, None, run_dir)
    message = str(caught.value)
    assert isinstance(caught.value, MerlinkitError)
    assert re.search(r"the loss became (nan|inf) at step \d of epoch 1", message)
    assert "'price' reaches" in message and "Normalize" in message
    assert "learning_rate is 10" in message and "There is no checkpoint yet" in message


def test_nan_in_the_second_epoch(toy: Any, run_dir: Path) -> None:
    loader = toy.train_loader()

    def spoil(epoch: int, batch: int) -> None:
        if (epoch, batch) == (1, 3):
            loader.rows["price"][:7] = float("nan")
            loader.rows["price"][7] = float("inf")

    loader.before_batch = spoil
    with pytest.raises(TrainingDiverged, match=r"step \d+ of epoch 2.*'price' holds \d+ NaN or in"):
        toy.trainer(epochs=2).fit(toy.model(), loader, toy.valid_loader(), run_dir)
    (checkpoint,) = (run_dir / "checkpoints").glob("step-*")
    assert checkpoint.name == "step-00000013"


def test_weights_that_are_not_finite_are_never_saved(toy: Any, run_dir: Path) -> None:
    model = Scripted()
    model.bias.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(
        TrainingDiverged, match="the weight 'bias' became NaN or infinite by step 1"
    ):
        toy.trainer().fit(model, toy.train_loader(32), None, run_dir)
    assert not list(run_dir.glob("checkpoints/step-*"))


def test_outputs_that_are_not_finite(toy: Any) -> None:
    rows = toy.rows(10)
    rows["price"][4] = float("nan")
    for use in (toy.trainer().evaluate, toy.trainer().predict):
        with pytest.raises(TrainingDiverged, match=r"1 of 10 rows.*'price' holds 1 NaN"):
            use(toy.model(), toy.loader(rows))


def test_ctrl_c_goes_through_and_keeps_the_checkpoint(toy: Any, run_dir: Path) -> None:
    loader = toy.train_loader()

    def interrupt(epoch: int, batch: int) -> None:
        if (epoch, batch) == (1, 2):
            raise KeyboardInterrupt

    loader.before_batch = interrupt
    with pytest.raises(KeyboardInterrupt):
        toy.trainer(epochs=3).fit(toy.model(), loader, None, run_dir)
    assert [path.name for path in (run_dir / "checkpoints").glob("step-*")] == ["step-00000013"]


def test_labels_that_cannot_be(toy: Any, run_dir: Path) -> None:
    loader = toy.train_loader()
    loader.rows["click"][5] = 3
    with pytest.raises(DataError, match="target 'click' holds 3, but a binary label must be 0 or"):
        toy.trainer().fit(toy.model(), loader, None, run_dir)
    with pytest.raises(DataError, match="target 'click' holds 3"):
        toy.trainer().evaluate(toy.model(), [loader.rows])


def test_ids_that_cannot_be(toy: Any, run_dir: Path) -> None:
    loader = toy.train_loader()
    loader.rows["user"][5] = 21
    with pytest.raises(DataError, match=r"column 'user' holds id 21, but .* is 21 "):
        toy.trainer().fit(toy.model(), loader, None, run_dir)


def test_missing_target(toy: Any, run_dir: Path) -> None:
    rows = toy.rows(10)
    del rows["click"]
    with pytest.raises(SchemaError, match="no column 'click'; let the loader read it"):
        toy.trainer().fit(toy.model(), toy.loader(rows), None, run_dir)


def test_no_rows(toy: Any, run_dir: Path) -> None:
    with pytest.raises(DataError, match="no batches to learn from"):
        toy.trainer().fit(toy.model(), toy.loader(toy.rows(0)), None, run_dir)
    with pytest.raises(DataError, match="no rows to evaluate on"):
        toy.trainer().evaluate(toy.model(), [])


def test_a_run_is_not_overwritten(toy: Any, run_dir: Path) -> None:
    toy.trainer().fit(toy.model(), toy.train_loader(), None, run_dir)
    with pytest.raises(RunDirError, match="go on from them with resume"):
        toy.trainer().fit(toy.model(), toy.train_loader(), None, run_dir)


def test_settings_that_do_not_fit_the_target(toy: Any) -> None:
    with pytest.raises(ConfigError, match="monitor is 'rmse', but the metrics of target 'click'"):
        toy.trainer(monitor="rmse")
    for tags, message in (
        (["target", "multi_class_classification"], "multi_class"),
        (["target", "binary_classification", "regression"], "both"),
    ):
        with pytest.raises(SchemaError, match=message):
            Trainer(toy.config(), Schema([Column("y", "Int64", tags=tags)]))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there(toy: Any) -> None:
    with pytest.raises(ConfigError, match="PyTorch finds no GPU"):
        toy.trainer(device="cuda")
    assert toy.trainer(device="auto").device.type == "cpu"
