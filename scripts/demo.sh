#!/usr/bin/env bash
# Trains and evaluates a model on MovieLens 100K and prints metrics and the path of the report.
# Arguments are passed on: scripts/demo.sh trainer.epochs=5
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/venv.sh
prepare ""
exec .venv/bin/merlinkit run "$@"
