#!/usr/bin/env bash
# The markers runtime with the real acpx. It starts turns itself and needs no server.
set -euo pipefail
cd "$(dirname "$0")/../../.."
exec .venv/bin/python -m tests.conformance.markers --npm build/acpx
