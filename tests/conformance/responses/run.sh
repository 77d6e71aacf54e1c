#!/usr/bin/env bash
# The real OpenAI client library, as it is now and as its first major version left it.
set -euo pipefail
cd "$(dirname "$0")/../../.."
drive=(-m tests.conformance.responses.drive --base-url "$BASE_URL/v1" --api-key "$API_KEY")
.venv/bin/python "${drive[@]}"
old=build/openai-1
if [ ! -x "$old/bin/python" ] || ! "$old/bin/python" -c "import openai" 2>/dev/null; then
  rm -rf "$old"
  .venv/bin/python -m venv "$old"
  "$old/bin/python" -m pip install --quiet "openai==1.109.1"
fi
"$old/bin/python" "${drive[@]}"
