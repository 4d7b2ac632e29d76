"""Checks of claims and clusters: pure functions from values to findings."""
