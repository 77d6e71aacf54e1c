#!/usr/bin/env bash
# Eve's own client libraries against our server, of today and of the version that first described this
# protocol; then eve's own servers of both, driven by our console: their approval, and a click that resumes them.
set -euo pipefail
cd "$(dirname "$0")/../../.."

if ! command -v npm >/dev/null; then
  echo "skip eve: npm is not installed, so its clients cannot be tried here." >&2
  [ -z "${CI:-}" ]
  exit
fi

packages() { # its folder, then what to install there
  local folder=build/$1
  shift
  if [ ! -e "$folder/complete" ]; then
    rm -rf "$folder" && mkdir -p "$folder" &&
      npm install --prefix "$folder" --no-audit --no-fund --loglevel error "$@" &&
      touch "$folder/complete"
  fi
}

if ! { packages node-24 node@24 &&
  packages eve-0.80 --ignore-scripts eve@0.80.1 "ai@^7.0.137" zod &&
  packages eve-0.13 --ignore-scripts eve@0.13.8 ai@7.0.0-beta.178; }; then
  echo "skip eve: Node 24 or eve's packages do not install here." >&2
  [ -z "${CI:-}" ]
  exit
fi

export EVE_BASE="$BASE_URL" EVE_TOKEN="$API_KEY" EVE_TELEMETRY_DISABLED=1
node=build/node-24/node_modules/node/bin/node
EVE_PKG=build/eve-0.80/node_modules/eve DRIVE_PARK=session "$node" tests/conformance/eve/drive.mjs
EVE_PKG=build/eve-0.13/node_modules/eve DRIVE_MODE=dual "$node" tests/conformance/eve/drive_seed.mjs
for era in 0.80 0.13; do
  .venv/bin/python -m tests.conformance.eve.driving "$node" "$era"
done
