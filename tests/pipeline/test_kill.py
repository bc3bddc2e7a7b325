"""Killed at any moment, a run leaves complete stages or ones that the next call does again."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from merlinkit.data.manifest import MANIFEST, Manifest

# Files appear by a rename and go by a deletion, so the moments just before and after each of these
# are the states that a kill can leave: the process kills itself at one of them.
SCRIPT = """
import os, pathlib, shutil, signal, sys
moment, after = int(sys.argv[1]), sys.argv[2] == "after"
moments = 0
def counted(real):
    def call(*arguments, **named):
        global moments
        moments += 1
        mine = moments
        if mine == moment and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments, **named)
        if mine == moment:
            os.kill(os.getpid(), signal.SIGKILL)
    return call
os.replace = counted(os.replace)
shutil.rmtree = counted(shutil.rmtree)
pathlib.Path.unlink = counted(pathlib.Path.unlink)
from merlinkit.cli.main import main
code = main(sys.argv[3:])
print("moments", moments)
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
    """An etl that nobody disturbed, and the number of its moments."""
    folder = tmp_path_factory.mktemp("reference") / "out"
    code, printed = call([*ETL, f"run_dir={folder}"])
    assert code == 0
    return content(folder), int(printed.split("moments")[1])


MOMENTS_OF_A_CLIENT = 40

RANDOM = random.Random(20_261_206)


@pytest.mark.parametrize(
    ("share", "after"),
    [(0.0, False), (1.0, True)] + [(RANDOM.random(), RANDOM.random() < 0.5) for _ in range(8)],
)
def test_etl_killed_at_a_moment(share, after, reference, tmp_path):
    expected, moments = reference
    moment = 1 + round(share * (moments - 1))
    arguments = [*ETL, f"run_dir={tmp_path / 'out'}"]
    code, _ = call(arguments, moment, after)
    assert code == -signal.SIGKILL
    assert_no_false_completeness(tmp_path)
    code, _ = call(arguments)
    assert code == 0
    assert content(tmp_path / "out") == expected
    for left in (".tmp-*", ".partial-*", "_parts", "_made_from", "work"):
        assert not list((tmp_path / "out").rglob(left))


@pytest.mark.parametrize(("share", "after"), [(0.2, True), (0.5, False), (0.8, True)])
def test_client_of_workers_killed_at_a_moment(share, after, reference, tmp_path):
    """The same, where the client of a cluster is killed and its workers with it."""
    pytest.importorskip("distributed")
    expected, _ = reference
    workers = ["engine=dask", "engine.workers=1", "engine.threads=1"]
    arguments = [*ETL, f"run_dir={tmp_path / 'out'}"]
    # Some of the moments are in the worker here.
    code, _ = call([*arguments, *workers], round(share * MOMENTS_OF_A_CLIENT), after)
    assert code == -signal.SIGKILL
    assert_no_false_completeness(tmp_path)
    code, _ = call([*arguments, *workers])
    assert code == 0
    assert content(tmp_path / "out") == expected


def files_of(folder: Path) -> dict[int, int]:
    """Return the processed and assigned files: time of writing by inode, which a rename keeps."""
    found = [
        path.stat()
        for below in ("work/assigned", "data")
        for path in (folder / below).rglob("part-*.parquet")
    ]
    return {status.st_ino: status.st_mtime_ns for status in found}


@pytest.mark.parametrize(
    ("split", "name", "kept"),
    [
        ("split=random", "work/assigned/part-00002.parquet", 2),
        ("split=random", "data/.partial-train/part-00002.parquet", 4 + 2),
        ("split=random", "data/.partial-valid/part-00003.parquet", 4 + 4 + 3),
        ("split=random", "profile.json", 4 + 4 + 4 + 4),
        # Files follow each other in time: valid and test are within the last.
        ("split=temporal", "data/.partial-test/part-00003.parquet", 4 + 1),
    ],
)
def test_files_that_were_finished_are_not_done_again(split, name, kept, tmp_path):
    folder = tmp_path / "out"
    etl = ["etl", "dataset=synthetic", "dataset.rows=600", "dataset.files=4", split]
    arguments = [*etl, f"run_dir={folder}"]
    script = SCRIPT.replace(
        "mine = moments",
        f"mine = moment if str(arguments[-1]).endswith({name!r}) else moments",
    )
    command = [sys.executable, "-c", script, "100000", "before", *arguments]
    result = subprocess.run(
        command, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert result.returncode == -signal.SIGKILL, result.stderr
    done = files_of(folder)
    assert len(done) == kept
    fitted = (folder / "workflow").stat().st_mtime_ns if (folder / "workflow").exists() else None
    code, _ = call(arguments)
    assert code == 0
    after = files_of(folder)
    processed = {inode: time for inode, time in done.items() if inode in after}
    # Those with their part are scratch, gone at the end.
    scratch = 4 if split == "split=random" else 0
    assert processed == {inode: after[inode] for inode in processed}
    assert len(processed) == max(0, kept - scratch)
    if fitted is not None:
        assert (folder / "workflow").stat().st_mtime_ns == fitted
    quiet = tmp_path / "quiet"
    assert call([*etl, f"run_dir={quiet}"])[0] == 0
    assert content(folder) == content(quiet)


def test_what_another_configuration_left_half_done_is_not_used(tmp_path):
    """Killed in the middle of transform, then called with another seed and split."""
    folder = tmp_path / "out"
    arguments = [*ETL, f"run_dir={folder}"]
    script = SCRIPT.replace("mine == moment", "str(arguments[-1]).endswith('data/valid')")
    command = [sys.executable, "-c", script, "0", "before", *arguments]
    assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
    assert list((folder / "data").glob(".partial-*"))
    other = [*ETL, "seed=5", "overwrite=true"]
    assert call([*other, f"run_dir={folder}"])[0] == 0
    assert call([*other, f"run_dir={tmp_path / 'quiet'}"])[0] == 0
    assert content(folder) == content(tmp_path / "quiet")
    assert not list(folder.rglob(".partial-*"))


def test_training_killed_again_and_again_ends_with_the_same_numbers(tmp_path):
    etl = tmp_path / "etl"
    assert call([*ETL, f"run_dir={etl}"])[0] == 0
    quiet, killed = tmp_path / "quiet", tmp_path / "killed"
    shutil.copytree(etl, quiet)
    shutil.copytree(etl, killed)
    code, printed = call([*RUN, f"run_dir={quiet}"])
    assert code == 0
    moments = int(printed.split("moments")[1])
    for moment in range(2, moments, max(1, moments // 6)):
        code, _ = call([*RUN, f"run_dir={killed}"], moment)
        assert code in (0, -signal.SIGKILL)
        assert_no_false_completeness(killed)
    assert call([*RUN, f"run_dir={killed}"])[0] == 0
    metrics = [json.loads((run / "metrics.json").read_text()) for run in (quiet, killed)]
    assert metrics[0] == metrics[1]


@pytest.fixture(scope="module")
def other_run(tmp_path_factory):
    """A complete run of another configuration."""
    folder = tmp_path_factory.mktemp("other") / "out"
    assert call([*RUN, "seed=7", f"run_dir={folder}"])[0] == 0
    return folder


# The first moments are those in which the earlier run is deleted.
@pytest.mark.parametrize(
    ("moment", "after"), [(1, True), (3, False), (4, True), (9, True), (14, True)]
)
def test_killed_while_it_replaces_another_run(moment, after, other_run, reference, tmp_path):
    folder = tmp_path / "out"
    shutil.copytree(other_run, folder)
    arguments = [*ETL, "overwrite=true", f"run_dir={folder}"]
    assert call(arguments, moment, after)[0] == -signal.SIGKILL
    # Half deleted, it is neither of the two, and takes no part of the old for the new.
    assert call(arguments)[0] == 0
    assert content(folder) == reference[0]
    for left in ("checkpoints", "metrics.json", "calibration.json", "work"):
        assert not (folder / left).exists()
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert not [event for event in events if event["kind"] in ("train", "valid")]
