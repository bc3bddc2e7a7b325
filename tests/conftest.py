"""Settings of the whole suite."""

import importlib.util
import os

import pytest

# As the command line does, before anything imports PyTorch: without spinning threads the suite is
# much faster on a machine that does other work too.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the suite of engines run on those that this machine has."""
    parser.addoption(
        "--engine",
        default="cpu,dask",
        help="engines that tests/engine runs on, such as cpu,dask (the default)",
    )


def pytest_configure() -> None:
    """Refuse a CI run without the plan proofs, which a laptop without cudf-polars may skip."""
    if os.environ.get("CI") and importlib.util.find_spec("cudf_polars") is None:
        raise pytest.UsageError("CI proves plans: pip install -e '.[dev,plan]'")
