#!/usr/bin/env bash
# Both dialects of leaf sessions, synchronous and asynchronous, with curl and jq against a running server.
set -euo pipefail
cd "$(dirname "$0")"
for tool in curl jq; do command -v "$tool" >/dev/null || { echo "$tool is not installed, and these checks need it." >&2; exit 1; }; done
TMPDIR="$(mktemp -d)"; export TMPDIR; trap 'rm -rf "$TMPDIR"' EXIT
for async in false true; do
  BASE="$BASE_URL" KEY="$API_KEY" ASYNC="$async" ./gate-smoke-inline.sh
  BASE="$BASE_URL" KEY="$API_KEY" ASYNC="$async" VOLUME="$STATE/volume" ./gate-smoke-files.sh
done
