"""The marker protocol: run command-line agents that report and ask in plain lines of text."""
