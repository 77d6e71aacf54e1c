"""Measurements, each compared with a yardstick from the same run. Not part of the tests."""
