"""Killed at any moment, a run leaves complete stages or ones that the next call does again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from merlinkit.data.manifest import MANIFEST, Manifest

# Files appear by a rename, so the moments just before and after each rename are all the states
# that a kill can leave: the process kills itself at one of them.
SCRIPT = """
import os, signal, sys
moment, after = int(sys.argv[1]), sys.argv[2] == "after"
renames, real = 0, os.replace
def replace(*arguments, **named):
    global renames
    renames += 1
    if renames == moment and not after:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*arguments, **named)
    if renames == moment:
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
from merlinkit.cli.main import main
code = main(sys.argv[3:])
print("renames", renames)
sys.exit(code)
"""

ETL = ["etl", "dataset=synthetic", "dataset.rows=600", "dataset.files=2", "split=random"]
RUN = ["run", *ETL[1:], "trainer.epochs=2", "trainer.batch_size=128", "trainer.tensorboard=false"]


def call(arguments: list[str], moment: int = -1, after: bool = False) -> tuple[int, str]:
    command = [sys.executable, "-c", SCRIPT, str(moment), "after" if after else "before"]
    result = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert "Traceback" not in result.stderr, result.stderr
    return result.returncode, result.stdout


def content(folder: Path) -> dict[str, list[str]]:
    """Return the checksums of the processed data, after a check that they are right."""
    out = {}
    for part in ("train", "valid", "test"):
        manifest = Manifest.load(folder / "data" / part)
        manifest.verify(folder / "data" / part)
        out[part] = [entry.sha256 for entry in manifest.files]
    return out


def assert_no_false_completeness(folder: Path) -> None:
    for manifest in folder.rglob(MANIFEST):
        if not any(part.startswith(".tmp-") for part in manifest.parts):
            Manifest.load(manifest.parent).verify(manifest.parent)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """An etl that nobody disturbed, and the number of its renames."""
    folder = tmp_path_factory.mktemp("reference") / "out"
    code, printed = call([*ETL, f"run_dir={folder}"])
    assert code == 0
    return content(folder), int(printed.split("renames")[1])


@pytest.mark.parametrize(
    ("share", "after"),
    [(index / 8, bool(index % 2)) for index in range(9)],
)
def test_etl_killed_at_a_rename(share, after, reference, tmp_path):
    expected, renames = reference
    moment = 1 + round(share * (renames - 1))
    arguments = [*ETL, f"run_dir={tmp_path / 'out'}"]
    code, _ = call(arguments, moment, after)
    assert code == -signal.SIGKILL
    assert_no_false_completeness(tmp_path)
    code, _ = call(arguments)
    assert code == 0
    assert content(tmp_path / "out") == expected
    assert not list((tmp_path / "out").rglob(".tmp-*"))


def test_training_killed_again_and_again_ends_with_the_same_numbers(tmp_path):
    etl = tmp_path / "etl"
    assert call([*ETL, f"run_dir={etl}"])[0] == 0
    quiet, killed = tmp_path / "quiet", tmp_path / "killed"
    shutil.copytree(etl, quiet)
    shutil.copytree(etl, killed)
    code, printed = call([*RUN, f"run_dir={quiet}"])
    assert code == 0
    renames = int(printed.split("renames")[1])
    for moment in range(2, renames, max(1, renames // 6)):
        code, _ = call([*RUN, f"run_dir={killed}"], moment)
        assert code in (0, -signal.SIGKILL)
        assert_no_false_completeness(killed)
    assert call([*RUN, f"run_dir={killed}"])[0] == 0
    metrics = [json.loads((run / "metrics.json").read_text()) for run in (quiet, killed)]
    assert metrics[0] == metrics[1]
