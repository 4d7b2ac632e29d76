"""Filters as selectors."""
