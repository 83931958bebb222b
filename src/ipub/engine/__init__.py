"""Engines: blocks of rows, sums over them, and views of them."""

from ipub.engine.block import Block, Reads, reads
from ipub.engine.memmap import MemmapRows
from ipub.engine.memory import MemoryRows
from ipub.engine.rows import Labels, PerBlock, Rows
from ipub.engine.slices import SlicedRows
from ipub.engine.views import (
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
