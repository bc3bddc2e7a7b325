"""Quality of DLRM against logistic regression on MovieLens 100K, same split, same features.

Each run is `merlinkit run` with the shipped configuration. The peer is scikit-learn's logistic
regression on one-hot columns of the very same processed parts: user, item and all other ids,
list columns as counts, numbers as they are. The label is rating >= 4.

    python benchmarks/quality_ctr.py --splits temporal random --seeds 42 43 44
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from merlinkit.cli.main import main as merlinkit
from merlinkit.data.manifest import Manifest
from merlinkit.models.inputs import model_inputs, target_column
from merlinkit.schema import Schema

PARTS = ("valid", "test")


def one_hot(frame: pl.DataFrame, schema: Schema) -> sparse.csr_matrix:
    """Return the features of processed rows as a sparse matrix ``[rows, all cardinalities]``."""
    inputs = model_inputs(schema)
    blocks = []
    for column in inputs.categorical:
        width = column.cardinality or 0
        values = frame[column.name]
        if column.is_list:
            lengths = values.list.len().fill_null(0).to_numpy()
            rows = np.repeat(np.arange(frame.height), lengths)
            ids = values.explode(empty_as_null=False, keep_nulls=False).to_numpy()
        else:
            rows, ids = np.arange(frame.height), values.to_numpy()
        ones = np.ones(len(ids), dtype=np.float32)
        blocks.append(sparse.csr_matrix((ones, (rows, ids)), shape=(frame.height, width)))
    for column in inputs.continuous:
        numbers = frame[column.name].to_numpy().reshape(-1, 1).astype(np.float32)
        blocks.append(sparse.csr_matrix(numbers))
    return sparse.hstack(blocks, format="csr")


def logistic_regression(run_dir: Path) -> dict[str, float]:
    """Return the AUC of logistic regression on the processed parts of a run."""
    schema = Manifest.load(run_dir / "data" / "train").schema
    label = target_column(schema).name

    def part(name: str) -> tuple[sparse.csr_matrix, npt.NDArray[Any]]:
        frame = pl.read_parquet(run_dir / "data" / name / "*.parquet")
        return one_hot(frame, schema), frame[label].to_numpy()

    features, labels = part("train")
    model = LogisticRegression(max_iter=1000).fit(features, labels)
    out = {}
    for name in PARTS:
        features, labels = part(name)
        out[name] = float(roc_auc_score(labels, model.predict_proba(features)[:, 1]))
    return out


def trained(run_dir: Path, *overrides: str) -> dict[str, float]:
    """Return the AUC of `merlinkit run` with overrides."""
    code = merlinkit(["run", f"run_dir={run_dir}", "trainer.progress=false", *overrides])
    if code:
        raise SystemExit(code)
    metrics = json.loads((run_dir / "metrics.json").read_text(encoding="utf-8"))
    return {name: metrics[name]["auc"] for name in PARTS}


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--splits", nargs="+", default=["temporal", "random"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[42, 43, 44])
    parser.add_argument("overrides", nargs="*", help="passed on to merlinkit run")
    arguments = parser.parse_args()
    lines = []
    for split in arguments.splits:
        for seed in arguments.seeds:
            with tempfile.TemporaryDirectory() as folder:
                run_dir = Path(folder) / "run"
                ours = trained(run_dir, f"split={split}", f"seed={seed}", *arguments.overrides)
                peer = logistic_regression(run_dir)
            for name in PARTS:
                ratio = ours[name] / peer[name]
                lines.append(
                    f"{split:<9} {seed:>5}  {name:<6} {ours[name]:.4f}  {peer[name]:.4f}  "
                    f"{ratio:.3f}"
                )
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "scikit-learn", "polars"))
    print(f"\npython {platform.python_version()}, {versions}")
    print(f"python {' '.join(sys.argv)}")
    print("split      seed  part   DLRM    LR      ratio of AUC")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
