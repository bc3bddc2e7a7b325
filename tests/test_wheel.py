"""The wheel, installed in an environment of its own in another folder, is complete."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_installed_wheel_runs_elsewhere(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    purelib = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    # Dependencies come from here, to save a download; .pth files in that folder, and with them
    # the editable merlinkit, are not followed.
    here = sysconfig.get_path("purelib")
    (Path(purelib) / "dependencies.pth").write_text(here + "\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--quiet", wheel],
        check=True,
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = subprocess.run(
        [python, "-c", "import merlinkit; print(merlinkit.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        cwd=elsewhere,
    ).stdout
    assert where.startswith(purelib)
    command = [environment / "bin" / "merlinkit", "run", "dataset=synthetic", "dataset.rows=600"]
    overrides = ["run_dir=out", "trainer.epochs=1", "trainer.tensorboard=false"]
    subprocess.run([*command, *overrides], check=True, cwd=elsewhere)
    assert (elsewhere / "out" / "report.html").is_file()
    assert (Path(purelib) / "merlinkit" / "py.typed").is_file()
