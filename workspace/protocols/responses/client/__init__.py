"""Agents elsewhere, driven over the Responses protocol by whatever server they have."""
