"""The shipped configuration learns at least what a linear model does."""

from __future__ import annotations

from benchmarks.quality_ctr import PARTS, logistic_regression, trained


def test_dlrm_is_no_worse_than_logistic_regression_on_movielens(tmp_path):
    # Same rows, same features, random split; benchmarks/quality_ctr.py prints more of it.
    run_dir = tmp_path / "run"
    ours = trained(run_dir, "trainer.tensorboard=false")
    peer = logistic_regression(run_dir)
    for part in PARTS:
        assert ours[part] >= peer[part]
        # Guards against a peer that is no opponent: the AUC of guessing is 0.5.
        assert peer[part] > 0.75
