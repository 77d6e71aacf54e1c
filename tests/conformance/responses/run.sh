#!/usr/bin/env bash
# Real clients of the protocol, each in an environment of its own: the OpenAI library as it is now and as its
# first major version left it, the Agents SDK, and the AI SDK with both of its providers. Then a real Agent
# Framework workflow behind Microsoft's own host, driven by our console, where that installs.
set -euo pipefail
cd "$(dirname "$0")/../../.."

environment() { # its folder, then what to install there
  local folder=$1
  shift
  if [ ! -e "$folder/complete" ]; then
    rm -rf "$folder"
    .venv/bin/python -m venv "$folder" && "$folder/bin/python" -m pip install --quiet "$@" &&
      touch "$folder/complete"
  fi
}

packages() { # its folder, then what to install there
  local folder=$1
  shift
  if [ ! -e "$folder/complete" ]; then
    rm -rf "$folder" && mkdir -p "$folder" &&
      npm install --prefix "$folder" --no-audit --no-fund --loglevel error "$@" &&
      touch "$folder/complete"
  fi
}

here=tests/conformance/responses
drive=(-m tests.conformance.responses.drive --base-url "$BASE_URL/v1" --api-key "$API_KEY")
.venv/bin/python "${drive[@]}"
environment build/openai-1 "openai==1.109.1"
build/openai-1/bin/python "${drive[@]}"

environment build/openai-agents "openai-agents==0.24.0"
build/openai-agents/bin/python $here/agents_sdk.py "$BASE_URL/v1" "$API_KEY"

# The providers need Node 22; any will do to install it.
if command -v npm >/dev/null && packages build/node-24 node@24 &&
  packages build/ai-sdk --ignore-scripts "ai@^7.0.173" "@ai-sdk/openai@^4.0.118" "@ai-sdk/open-responses@^2.0.36" zod@^4; then
  build/node-24/node_modules/node/bin/node $here/ai_sdk.mjs "$BASE_URL/v1" "$API_KEY" build/ai-sdk
else
  echo "skip ai_sdk: npm is not installed, or its packages do not install here." >&2
  [ -z "${CI:-}" ]
fi

if environment build/agent-framework agent-framework-core agent-framework-foundry-hosting; then
  .venv/bin/python -m tests.conformance.responses.workflow build/agent-framework/bin/python
else
  echo "skip agent_framework: it does not install here"
fi
