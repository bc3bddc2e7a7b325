"""The engines that the suite of this folder runs on: ``pytest tests/engine --engine=cpu,dask``."""

from __future__ import annotations

import pytest

from merlinkit.engine.dask_options import DaskOptions
from merlinkit.engine.select import get_engine

# More workers would not make anything happen that two do not.
OPTIONS = {"dask": DaskOptions(workers=2, threads=1)}

_made = {}


def made(name):
    """Return the engine of a name, made once for all tests."""
    if name not in _made:
        _made[name] = get_engine(name, options=OPTIONS.get(name))
    return _made[name]


def pytest_generate_tests(metafunc):
    if "engine" in metafunc.fixturenames:
        names = metafunc.config.getoption("--engine").split(",")
        metafunc.parametrize("engine", names, indirect=True)


@pytest.fixture
def engine(request):
    return made(request.param)


@pytest.fixture
def dask_engine():
    return made("dask")


@pytest.fixture(scope="session", autouse=True)
def close_engines():
    yield
    while _made:
        _made.popitem()[1].close()
