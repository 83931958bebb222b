"""Engines: blocks of rows, sums over them, and views of them."""

from ipub.rows.block import Block, Reads, reads
from ipub.rows.memory import MemmapRows, MemoryRows
from ipub.rows.rows import Labels, PerBlock, Rows
from ipub.rows.slices import SlicedRows
from ipub.rows.views import (
    View,
    engine_of,
    on_engine,
    one_class_against_rest,
    with_intercept_column,
    with_label_uncertainty,
    with_labels,
    with_wrong_labels,
    without_intercept_column,
)

__all__ = [
    "Block",
    "Labels",
    "MemmapRows",
    "MemoryRows",
    "PerBlock",
    "Reads",
    "Rows",
    "SlicedRows",
    "View",
    "engine_of",
    "on_engine",
    "one_class_against_rest",
    "reads",
    "with_intercept_column",
    "with_label_uncertainty",
    "with_labels",
    "with_wrong_labels",
    "without_intercept_column",
]
