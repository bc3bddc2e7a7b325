"""``merlinkit doctor``: what is here, and what will run where."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import polars as pl
import psutil
from packaging.specifiers import SpecifierSet
from rich.table import Table

from merlinkit._version import __version__
from merlinkit.errors import MerlinkitError
from merlinkit.pipeline.console import Console

__all__ = ["doctor"]

# What merlinkit is written for; the same ranges as in pyproject.toml.
_CORE = {
    "polars": ">=1.44,<1.45",
    "torch": ">=2.9,<3",
    "hydra-core": ">=1.3,<1.4",
    "omegaconf": ">=2.3,<2.4",
    "numpy": ">=2,<3",
    "pyarrow": ">=19",
    "safetensors": ">=0.5",
    "tensorboard": ">=2.18",
}
_RAPIDS = "==26.10.*"
_GPU = ("cudf-polars", "cudf", "rmm", "dask-cuda", "cuml")


def doctor(rest: list[str], console: Console) -> int:
    """Print what this machine has.

    Parameters
    ----------
    rest
        Must be empty but for ``--help``.
    console
        Where errors go.

    Returns
    -------
    int
        0 if everything that is needed is here, else 2.
    """
    if rest and rest[0] in ("-h", "--help"):
        print("merlinkit doctor: say what is installed here and what will run where")
        return 0
    if rest:
        raise MerlinkitError(f"doctor takes nothing, {' '.join(rest)!r} found")
    out = Console(soft_wrap=True)
    memory = psutil.virtual_memory()
    cores = len(os.sched_getaffinity(0))
    gpus = _gpus()
    facts = Table(show_header=False, box=None)
    for name, value in (
        ("merlinkit", f"{__version__} in {Path(__file__).resolve().parents[1]}"),
        ("python", f"{platform.python_version()} on {platform.platform()}"),
        ("processor", f"{cores} of {os.cpu_count()} cores may be used, {platform.machine()}"),
        (
            "memory",
            f"{memory.total / 2**30:.1f} GiB, {memory.available / 2**30:.1f} GiB available",
        ),
        ("disk", f"{shutil.disk_usage(Path.cwd()).free / 2**30:.1f} GiB free in {Path.cwd()}"),
        ("GPU", "; ".join(gpus) or "none (no NVIDIA driver found)"),
    ):
        facts.add_row(name, value)
    out.print(facts)
    problems = _print_packages(out)
    out.print("\nwhat will run where", style="bold")
    for line in _placement(cores, bool(gpus)):
        out.print(f"  {line}", markup=False, highlight=False)
    for problem in problems:
        console.print(f"merlinkit: {problem}", style="red", markup=False, highlight=False)
    return 2 if problems else 0


def _print_packages(out: Console) -> list[str]:
    """Print versions beside what is expected; return what is wrong with the core ones."""
    problems: list[str] = []
    table = Table("package", "version", "expected", "")
    for name, expected in _CORE.items():
        found = _version(name)
        fits = found is not None and SpecifierSet(expected).contains(found, prereleases=True)
        table.add_row(name, found or "missing", expected, "" if fits else "does not fit")
        if not fits:
            problems.append(
                f"{name} {found or 'is missing'}, {expected} expected: pip install "
                f"'{name}{expected}'"
            )
    for name in _GPU:
        found = next(
            (v for suffix in ("-cu13", "-cu12", "") if (v := _version(name + suffix))), None
        )
        if found is None:
            table.add_row(name, "not installed", _RAPIDS, "optional")
        else:
            fits = SpecifierSet(_RAPIDS).contains(found, prereleases=True)
            table.add_row(name, found, _RAPIDS, "" if fits else "does not fit")
    out.print(table)
    return problems


def _placement(cores: int, has_gpu: bool) -> list[str]:
    import torch

    from merlinkit.engine.plan import is_available

    lines = [
        f"features: engine=cpu, Polars' streaming engine on {pl.thread_pool_size()} threads",
        (
            f"training: trainer.device=auto takes the GPU ({torch.cuda.get_device_name(0)})"
            if torch.cuda.is_available()
            else f"training: PyTorch on {min(torch.get_num_threads(), cores)} threads of the CPU"
        ),
    ]
    if has_gpu and not torch.cuda.is_available():
        lines.append(
            "  there is a GPU, but this PyTorch has no CUDA: install a CUDA build to train on it"
        )
    lines.append(
        "plan: proves whether features would run on cuDF"
        if is_available()
        else "plan: without the proof on cuDF; for that, pip install 'merlinkit[plan]' (about 3 GB)"
    )
    return lines


def _gpus() -> list[str]:
    """Return name, memory and driver of each NVIDIA GPU."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    query = [command, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        result = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in result.stdout.splitlines() if line.strip()]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
