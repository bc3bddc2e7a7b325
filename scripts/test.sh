#!/usr/bin/env bash
# Everything that must pass: format, lint, types, tests, doctests and plan proofs.
# Arguments are passed on to pytest: scripts/test.sh tests/ops -k categorify
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/venv.sh
prepare "[dev,plan]"
echo "ruff"
.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .
echo "mypy"
.venv/bin/mypy
echo "pytest"
exec .venv/bin/python -m pytest "$@"
