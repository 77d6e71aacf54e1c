"""The native REST API: asks to read and answer, sessions to follow. For programs with a key."""
