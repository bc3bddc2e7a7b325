"""What only a cluster can do: lose workers, be lost, be another's, or not be there."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import psutil
import pytest
from polars.testing import assert_frame_equal

from merlinkit import Dataset, Workflow, ops
from merlinkit.cli.main import main
from merlinkit.data.manifest import Manifest
from merlinkit.engine import dask_cluster
from merlinkit.engine.dask import DaskEngine
from merlinkit.engine.dask_options import DaskOptions
from merlinkit.engine.task import Task
from merlinkit.errors import DataError, EngineError, ParameterError
from merlinkit.pipeline import etl
from merlinkit.workflow import program
from tests.engine.faults import Deadly
from tests.ops.test_sequences import events

FILES = 6


@pytest.fixture
def data(tmp_path):
    frame = events(240, seed=3)
    (tmp_path / "in").mkdir()
    for index in range(FILES):
        frame[index::FILES].write_parquet(tmp_path / "in" / f"{index}.parquet")
    return Dataset(tmp_path / "in")


def graph():
    lags = ["ts"] >> ops.DifferenceLag("user", ["ts", "item"])
    return lags + (["item"] >> ops.Categorify()) + (["ts"] >> ops.Rename(postfix="_raw"))


@pytest.fixture
def expected(data, monkeypatch, tmp_path):
    """What comes out where nothing goes wrong."""
    monkeypatch.setattr(program, "BUCKET_ROWS", 100)
    workflow = Workflow(graph()).fit(data)
    workflow.transform(data).to_parquet(tmp_path / "expected")
    return rows(tmp_path / "expected")


def rows(folder: Path) -> pl.DataFrame:
    return pl.read_parquet([folder / entry.name for entry in Manifest.load(folder).files])


# -- workers that die -------------------------------------------------------------------------


@pytest.mark.parametrize("file", [0, FILES - 1])
@pytest.mark.parametrize("times", [1, 2])
def test_a_worker_that_dies_in_fit(file, times, data, expected, dask_engine, tmp_path):
    deadly = Deadly(data, file, times, tmp_path / "marks")
    workflow = Workflow(graph()).fit(deadly, dask_engine, work_dir=tmp_path / "work")
    assert len(list((tmp_path / "marks").iterdir())) == times
    workflow.transform(data).to_parquet(tmp_path / "out")
    assert_frame_equal(rows(tmp_path / "out"), expected)


@pytest.mark.parametrize("bucket_rows", [100, 1_000_000])
def test_a_worker_that_dies_in_transform(
    bucket_rows, data, expected, dask_engine, tmp_path, monkeypatch
):
    """In the pass that brings rows together, or where all are few enough to be together."""
    monkeypatch.setattr(program, "BUCKET_ROWS", bucket_rows)
    workflow = Workflow(graph()).fit(data)
    deadly = Deadly(data, 2, 2, tmp_path / "marks")
    workflow.transform(deadly, dask_engine).to_parquet(tmp_path / "out")
    assert len(list((tmp_path / "marks").iterdir())) == 2
    found = rows(tmp_path / "out")
    assert_frame_equal(found, expected, check_row_order=bucket_rows == 100)


def test_a_partition_that_kills_three_workers_ends_the_run(data, dask_engine, tmp_path):
    workflow = Workflow(["item"] >> ops.Categorify()).fit(data)
    deadly = Deadly(data, 4, 9, tmp_path / "marks")
    with pytest.raises(EngineError, match="transform 4: 3 workers died of it") as raised:
        workflow.transform(deadly, dask_engine).to_parquet(tmp_path / "out")
    assert "engine.memory_limit" in str(raised.value)
    assert len(list((tmp_path / "marks").iterdir())) == 3
    assert not (tmp_path / "out").exists()
    # The engine goes on.
    assert workflow.transform(data, dask_engine).collect().height == 240


def test_a_worker_that_was_lost_while_nothing_happened(data, dask_engine, tmp_path):
    workflow = Workflow(["item"] >> ops.Categorify()).fit(data)
    pids = dask_engine.cluster.client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    workflow.transform(data, dask_engine).to_parquet(tmp_path / "out")
    assert Manifest.load(tmp_path / "out").rows == 240


def test_nobody_writes_any_more_after_a_failure(dask_engine, tmp_path):
    """Tasks of other files still run when one fails; what they write must not come too late."""
    (tmp_path / "in").mkdir()
    for index in range(6):
        events(20_000, seed=index).write_parquet(tmp_path / "in" / f"{index}.parquet")
    data = Dataset(tmp_path / "in")
    workflow = Workflow(["item", "price", "ts"]).fit(data)
    (tmp_path / "in" / "0.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(DataError, match="0 cannot be transformed"):
        workflow.transform(data, dask_engine).to_parquet(tmp_path / "out", rows_per_file=500)
    before = sorted(tmp_path.iterdir())
    assert all(dask_engine.cluster.client.run(_nothing_runs).values())
    assert sorted(tmp_path.iterdir()) == before == [tmp_path / "in"]


def _nothing_runs(dask_worker):
    return not dask_worker.state.executing


def test_a_closed_engine():
    engine = DaskEngine(DaskOptions(workers=1))
    engine.close()
    with pytest.raises(EngineError, match="the engine is closed"):
        engine.collect([pl.LazyFrame({"a": [1]})])


# -- a client that dies -----------------------------------------------------------------------

CLIENT = """
import os, sys
from pathlib import Path
from merlinkit import Dataset, Workflow, ops
from merlinkit.engine.dask import DaskEngine
from merlinkit.engine.dask_options import DaskOptions
from tests.engine.faults import Deadly
from tests.ops.test_sequences import events

if __name__ == "__main__":
    here, file = Path(sys.argv[1]), int(sys.argv[2])
    rows = Dataset(here / "in")
    if file >= 0:
        rows = Deadly(rows, file, 1, here / "marks", os.getpid())
    workflow = Workflow.load(here / "workflow")
    with DaskEngine(DaskOptions(workers=1, threads=1)) as engine:
        workflow.transform(rows, engine).to_parquet(here / "out", resume="same")
"""


def run_client(here: Path, file: int) -> int:
    (here / "client.py").write_text(CLIENT)
    command = [sys.executable, str(here / "client.py"), str(here), str(file)]
    paths = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}).returncode


@pytest.mark.parametrize("file", [2, FILES - 1])
def test_a_client_that_dies_keeps_the_files_that_were_finished(file, data, tmp_path):
    workflow = Workflow(["item"] >> ops.Categorify()).fit(data)
    workflow.save(tmp_path / "workflow")
    workflow.transform(data).to_parquet(tmp_path / "expected")
    assert run_client(tmp_path, file) == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    done = {
        path.name: (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in (tmp_path / ".partial-out").glob("part-*.parquet")
    }
    assert len(done) >= file
    assert run_client(tmp_path, -1) == 0
    for number in range(file):
        # Later ones may be of a worker that outlived its client, but not long enough to finish.
        name = f"part-{number:05d}.parquet"
        status = (tmp_path / "out" / name).stat()
        assert (status.st_mtime_ns, status.st_ino) == done[name]
    checksums = [
        [entry.sha256 for entry in Manifest.load(tmp_path / folder).files]
        for folder in ("expected", "out")
    ]
    assert checksums[0] == checksums[1]


@pytest.mark.parametrize("at_once", [True, False])
def test_interrupted(at_once, tmp_path):
    """Ctrl-C reaches all processes of a terminal, even those being started; all are gone then."""
    arguments = ["etl", "dataset=synthetic", "dataset.rows=4000000", "dataset.files=8"]
    command = [
        *[sys.executable, "-m", "merlinkit", *arguments],
        *["engine=dask", "engine.workers=2", "engine.threads=1", "run_dir=out"],
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        family = []
        if at_once:
            # As soon as a process is being started.
            while not family:
                family = psutil.Process(process.pid).children(recursive=True)
        else:
            for line in process.stderr:
                if line.startswith("2 Dask workers started here"):
                    break
            family = psutil.Process(process.pid).children(recursive=True)
            assert len(family) >= 2
        os.killpg(process.pid, signal.SIGINT)
        text = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in text, text
    assert "to continue: merlinkit etl" in text
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


# -- clusters ---------------------------------------------------------------------------------


def write_features(folder: Path, monkeypatch) -> None:
    """Write the configuration ``features=mine`` into a folder, and go there."""
    monkeypatch.chdir(folder)
    path = folder / "conf" / "features" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("# @package _global_\nfeatures: [{columns: [item], ops: [Categorify]}]\n")


def test_a_scheduler_that_runs_already_is_left_as_it_is(dask_engine, tmp_path, capsys, monkeypatch):
    address = dask_engine.cluster.address
    (tmp_path / "scheduler.json").write_text(json.dumps({"address": address}))
    logs = pl.DataFrame({"user": [1, 2] * 50, "item": list("abcd") * 25, "click": [0, 1] * 50})
    logs.write_parquet(tmp_path / "logs.parquet")
    write_features(tmp_path, monkeypatch)
    arguments = [
        *["etl", "dataset=files", f"dataset.path={tmp_path}/logs.parquet", "engine=dask"],
        *["features=mine", "split=random"],
    ]
    by_file = f"engine.scheduler_file={tmp_path}/scheduler.json"
    for number, where in enumerate([f"engine.scheduler={address}", by_file]):
        code = main([*arguments, where, f"run_dir={tmp_path}/{number}"])
        text = capsys.readouterr().err
        assert code == 0, text
        assert f"2 Dask workers of a cluster, scheduler at {address}" in text
    assert dask_engine.workers == 2
    assert dask_engine.collect([pl.LazyFrame({"a": [1]})])[0].item() == 1


def run_etl(capsys, *overrides: str) -> tuple[int, str]:
    code = main(["etl", "dataset=synthetic", "dataset.rows=100", "engine=dask", *overrides])
    return code, " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["engine.scheduler=tcp://127.0.0.1:9", "engine.timeout=2"],
            "no scheduler answers at tcp://127.0.0.1:9",
        ),
        (["engine.scheduler=somewhere"], "an address such as tcp://host:8786 expected"),
        (["engine.scheduler_file=none.json"], "engine.scheduler_file none.json is not there"),
        (["engine.scheduler=tcp://a:1", "engine.workers=2"], "has its own workers"),
        (["engine.workers=0"], "engine.workers is 0, a whole number of at least 1"),
        (["engine.memory_limit=lots"], "a size such as 4GB or 512MiB expected"),
        (["engine.wokers=2"], "Did you mean 'engine.workers'"),
    ],
)
def test_a_cluster_that_cannot_be_had(overrides, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, text = run_etl(capsys, *overrides)
    assert code == 2
    assert message in text
    assert "Traceback" not in text


def test_options_of_a_cluster_do_not_go_with_another_engine(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["etl", "dataset=synthetic", "engine.workers=2"]) == 2
    assert "engine.workers goes with engine=dask" in capsys.readouterr().err
    assert main(["etl", "dataset=synthetic", "+engine.workers=2"]) == 2
    assert "engine.workers goes with engine=dask" in capsys.readouterr().err


def test_workers_of_other_versions_are_refused(dask_engine, monkeypatch):
    ours = dask_cluster.importlib.metadata.version

    def version(name):
        return "0.0.1" if name == "polars" else ours(name)

    monkeypatch.setattr(dask_cluster.importlib.metadata, "version", version)
    answers = {
        "polars": {"tcp://a": "1.44.2", "tcp://b": "0.0.1"},
        "merlinkit": {"tcp://a": dask_cluster.importlib.metadata.PackageNotFoundError("merlinkit")},
    }

    def ask(cluster, question, *arguments):
        if not arguments:
            return {"tcp://a": "3.9.1"}
        return answers.get(arguments[0], {})

    monkeypatch.setattr(dask_cluster, "_ask", ask)
    with pytest.raises(EngineError) as raised:
        dask_cluster.require_same_versions(dask_engine.cluster)
    text = str(raised.value)
    assert "tcp://a has polars 1.44.2, we have 0.0.1" in text
    assert "tcp://a has no merlinkit" in text
    assert "tcp://a has Python 3.9.1" in text
    assert "tcp://b" not in text


def test_storage_that_workers_do_not_see(dask_engine, tmp_path):
    dask_engine.require_visible([tmp_path])
    with pytest.raises(EngineError, match="does not see .*/elsewhere, which is on"):
        dask_engine.require_visible([tmp_path / "elsewhere"])


def test_a_script_that_workers_would_run_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from merlinkit.engine.dask import DaskEngine\nDaskEngine().close()\n")
    paths = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert "EngineError" in last
    assert 'put the work under `if __name__ == "__main__":`' in last


def test_no_worker(tmp_path):
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        pytest.raises(
            EngineError, match="has no workers after 0.2 s; start some with `dask worker"
        ),
    ):
        DaskEngine(DaskOptions(scheduler=cluster.scheduler_address, timeout=0.2))


def test_rows_in_memory_do_not_travel(dask_engine):
    frame = pl.DataFrame({"x": pl.int_range(0, 5_000_000, eager=True)})
    with pytest.raises(EngineError, match="MiB of rows through the scheduler.*write the frame to"):
        Workflow(["x"] >> ops.Normalize()).fit(frame, dask_engine)


def test_results_outlive_their_workflow(dask_engine, data, tmp_path):
    """What workers learned is there as long as something needs it, and no longer."""
    result = Workflow(["item"] >> ops.Categorify()).fit_transform(data, dask_engine)
    other = Workflow(["item", "ts"] >> ops.Categorify()).fit(data, dask_engine).remove_inputs("ts")
    folders = [
        Path(table.kept_by.path)
        for workflow in (result._program, other)
        for state in workflow.states.values()
        for table in state.tables.values()
    ]
    assert result.collect().height == other.transform(data, dask_engine).collect().height == 240
    assert all(folder.is_dir() for folder in folders)
    del result, other
    gc.collect()
    assert not any(folder.exists() for folder in folders)


def test_workers_that_are_all_gone(tmp_path):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        options = DaskOptions(scheduler=cluster.scheduler_address, timeout=1)
        with DaskEngine(options) as engine:
            cluster.scale(0)
            with pytest.raises(EngineError, match="has had no workers for 1 s; start some again"):
                engine.collect([pl.LazyFrame({"a": [1]})])


def test_results_come_in_the_order_of_the_tasks(dask_engine):
    tasks = [Task(str(n), lambda engine, n=n: (n, engine.name)) for n in range(20)]
    assert list(dask_engine.run(tasks)) == [(n, "cpu") for n in range(20)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 1.5}, "workers is 1.5"),
        ({"threads": True}, "threads is True"),
        ({"timeout": 0}, "timeout is 0"),
        ({"dashboard": "yes"}, "dashboard is 'yes'"),
        ({"scheduler": "tcp://a:1", "scheduler_file": "b"}, "both given"),
        ({"memory_limit": 4}, "memory_limit is 4"),
        ({"memory_limit": "50MB"}, "a worker needs at least 500MB"),
        ({"memory_limit": "0.4 GiB"}, "a worker needs at least 500MB"),
    ],
)
def test_options_that_are_not_possible(options, message):
    with pytest.raises(ParameterError, match=message):
        DaskOptions(**options)


# -- data that changes ------------------------------------------------------------------------


def test_a_file_that_changed_since_the_run_began_is_named(tmp_path, monkeypatch, capsys):
    write_features(tmp_path, monkeypatch)
    logs = pl.DataFrame({"user": [1, 2] * 50, "item": list("abcd") * 25, "click": [0, 1] * 50})
    for name in ("a", "b"):
        logs.write_parquet(f"{name}.parquet")
    arguments = [
        *["etl", "dataset=files", "dataset.path='[ab].parquet'", "run_dir=out"],
        *["features=mine", "split=random"],
    ]
    assert main(arguments) == 0
    # Where the work is done may change.
    assert main([*arguments, "engine=dask", "engine.workers=1"]) == 0
    assert "is there already" in capsys.readouterr().err
    logs[:50].write_parquet("b.parquet")
    assert main(arguments) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "run_dir out was made from other data: b.parquet changed; choose" in text.replace(
        str(tmp_path) + "/", ""
    )
    assert main([*arguments, "overwrite=true"]) == 0
    # Also while the work goes on.
    profile = etl.build_profile

    def changing(*given):
        logs[:40].write_parquet("b.parquet")
        return profile(*given)

    with monkeypatch.context() as context:
        context.setattr(etl, "build_profile", changing)
        assert main([*arguments, "seed=3", "overwrite=true"]) == 2
    assert "b.parquet changed" in capsys.readouterr().err
    assert main([*arguments, "overwrite=true"]) == 0
    assert Manifest.load(tmp_path / "out" / "data" / "train").rows == 140
