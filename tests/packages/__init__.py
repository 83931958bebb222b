"""Builds the distributions, and tries them in empty environments."""
