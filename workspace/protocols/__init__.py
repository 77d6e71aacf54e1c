"""The agent protocols, one package each. They do not import one another."""
