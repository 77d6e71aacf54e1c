"""The marker protocol: an agent that speaks in plain lines, on any command-line harness."""
