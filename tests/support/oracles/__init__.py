"""Exact minimisers and plain loops that the package is compared with."""
