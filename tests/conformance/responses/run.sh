#!/usr/bin/env bash
# The real OpenAI client library, as it is now and as its first major version left it; then a real Agent
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

drive=(-m tests.conformance.responses.drive --base-url "$BASE_URL/v1" --api-key "$API_KEY")
.venv/bin/python "${drive[@]}"
environment build/openai-1 "openai==1.109.1"
build/openai-1/bin/python "${drive[@]}"

if environment build/agent-framework agent-framework-core agent-framework-foundry-hosting; then
  .venv/bin/python -m tests.conformance.responses.workflow build/agent-framework/bin/python
else
  echo "skip agent_framework: it does not install here"
fi
