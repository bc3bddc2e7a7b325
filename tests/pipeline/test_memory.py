"""Memory stays bounded."""

from __future__ import annotations

import pytest

from benchmarks.memory import run_beyond_imports


@pytest.mark.slow  # a million rows, so that what grows with the data would show
def test_a_million_rows_need_less_than_two_gigabytes_beyond_the_imports(tmp_path):
    _, beyond = run_beyond_imports(1_000_000, tmp_path, "trainer.tensorboard=false")
    assert beyond < 2_000
