"""Measurements, each beside a yardstick taken in the same run. Never part of the tests."""
