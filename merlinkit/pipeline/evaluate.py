"""From a trained model to metrics and calibration of the parts it did not learn from."""

from __future__ import annotations

from typing import Any

from merlinkit.atomic import write_json
from merlinkit.data.manifest import Manifest
from merlinkit.errors import ArtifactError, RunDirError
from merlinkit.pipeline.config import RunConfig
from merlinkit.pipeline.run_dir import RunDir, fingerprint
from merlinkit.pipeline.stage import Reporter
from merlinkit.pipeline.train import is_binary, make_loader, processed_schema

__all__ = ["METRICS_FILE", "run_evaluate"]

METRICS_FILE = "metrics.json"
_CALIBRATION_FILE = "calibration.json"


def run_evaluate(
    config: RunConfig, run: RunDir, reporter: Reporter, trained_from: str
) -> dict[str, dict[str, Any]]:
    """Measure the best weights on the validation and test parts.

    Returns
    -------
    dict
        Metrics by part; also written to ``metrics.json``, and ``calibration.json`` beside it.
    """
    from merlinkit.models.registry import build_model
    from merlinkit.training import Trainer, load_model

    schema = processed_schema(run)
    metrics: dict[str, dict[str, Any]] = {}
    reliability: dict[str, Any] = {}
    with reporter.stage("evaluate", "evaluate the best weights") as notes:
        model = build_model(config.model.name, config.model.parameters, schema, seed=config.seed)
        try:
            load_model(model, run.path)
        except ArtifactError as error:
            raise RunDirError(
                f"run_dir {run.path} has no trained model that can be read ({error}); run train "
                "again, with the same run_dir"
            ) from error
        trainer = Trainer(config.trainer, schema)
        notes.rows = 0
        for part in ("valid", "test"):
            if Manifest.load(run.data(part)).rows == 0:
                reporter.progress(f"the {part} part has no rows")
                continue
            loader = make_loader(config, run.data(part), schema, shuffle=False)
            predictions = trainer.predict(model, loader)
            assert predictions.labels is not None  # the loader reads the target
            measured = trainer.objective.metrics()
            measured.update(predictions.outputs, predictions.labels)
            metrics[part] = dict(measured.compute())
            for name, reason in measured.undefined.items():
                reporter.note(f"{part}: {name} has no value, {reason}")
            if is_binary(schema):
                reliability[part] = _reliability(predictions.labels, predictions.scores)
            notes.rows += loader.num_rows
        write_json(run.path / _CALIBRATION_FILE, reliability)
        write_json(run.path / METRICS_FILE, metrics)
    run.finish_stage("evaluate", fingerprint({"model": trained_from}), {})
    return metrics


def _reliability(labels: Any, scores: Any) -> dict[str, Any]:
    from merlinkit.metrics import calibration

    found = calibration(labels, scores)
    return {
        "ece": found.expected_error,
        "bins": [
            {
                "low": item.lower,
                "high": item.upper,
                "count": item.rows,
                "mean_prediction": item.mean_prediction,
                "mean_label": item.mean_label,
            }
            for item in found.bins
        ],
    }
