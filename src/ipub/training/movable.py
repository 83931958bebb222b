"""What may differ from a filled-in table: its holes, and observed cells that may be wrong, as units of a budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.rounding import Array, down, midpoint_and_radius, up
from ipub.promises import Budget
from ipub.tables.holes import column_precision
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.missing_category import Levels
from ipub.tables.movable_units import HOLES, WRONG_CELLS, MovableRows
from ipub.training.imputing.holes import Holes
from ipub.training.reading import Parameters, TrainingData


def refuse_other_uncertainty(what: str, parameters: Parameters, data: TrainingData) -> None:
    """Raise an error for what the bounds around a filled-in table do not speak of."""
    if parameters.precision is not None:
        raise IpubError(
            f"{what} speak of single cells, and the estimator's precision makes every observed cell uncertain: leave "
            "it out, or say Budget(wrong_cells=..., precision=...)."
        )
    if parameters.unknown_labels or parameters.max_label_errors or data.rows[0].uncertain_labels:
        raise IpubError(
            f"{what} start from labels that are certain: use them without unknown_labels, max_label_errors (which is "
            "Budget(labels=...) there), y_lower and y_upper, or uncertainty='worst' with them."
        )


def check_labels_and_rows(budget: Budget, parameters: Parameters, data: TrainingData) -> None:
    """Raise an error if labels cannot be wrong in the way a budget speaks of, or no row would be left."""
    n_classes = 0 if data.classes is None else len(data.classes)
    if budget.labels and n_classes != 2:
        what = f"y has {n_classes} classes" if n_classes else "a target of numbers is of no class"
        raise IpubError(f"Budget(labels=...) is for two classes, and {what}: leave labels out.")
    if budget.labels and parameters.class_weight is not None:
        raise IpubError("With Budget(labels=...) a row has no class to take a weight from: leave out class_weight.")
    n_rows = int(np.count_nonzero(data.weight > 0.0))
    if budget.rows >= n_rows:
        raise IpubError(f"Budget(rows={budget.rows}) lets all of the {n_rows:,} rows that count be absent: give fewer.")


def movable_holes(matrix: IntervalMatrix, table: Array, group: int = HOLES) -> MovableRows:
    """Return missing values of a filled-in table as units: numbers inside the intervals of `matrix`, any level."""
    in_row, columns, centers, radii = matrix.cells(slice(0, matrix.shape[0]))
    movable = _movable_numbers(in_row, columns, table[in_row, columns], centers, radii, group)
    missing = matrix.missing_categories
    for which, levels in missing.by_category():
        if len(which):
            movable = movable.joined_to(_movable_categories(missing.rows[which], levels, table, group))
    return movable


def movable_cells(data: TrainingData, holes: Holes, table: Array, precision: Any) -> MovableRows:
    """Return the observed cells as units: numbers that may be off by their precision, as in `Budget`, and any level.

    `table` is the filled-in one, scaled.
    """
    learnt, encoder = data.table, data.table.columns.encoder
    is_cell = ~np.isnan(holes.table) & learnt.is_number & (data.weight > 0.0)[:, None]
    in_row, columns = (index.astype(np.intp) for index in np.nonzero(is_cell))
    values = holes.table[in_row, columns]
    if precision is None:
        low, high = learnt.hole_ranges[columns].T
        low, high = np.minimum(low, values), np.maximum(high, values)
    else:
        widths = _precisions(data, precision)[columns]
        low, high = (np.where(widths > 0.0, end, values) for end in (down(values - widths), up(values + widths)))
    centers, radii = midpoint_and_radius(low, high)
    if learnt.scaling is not None:
        centers, radii = learnt.scaling.cells(centers, radii, columns)
    movable = _movable_numbers(in_row, columns, table[in_row, columns], centers, radii, WRONG_CELLS)
    if encoder is None:
        return movable
    for first, width in zip(encoder.starts[:-1], encoder.widths, strict=True):
        if width > 1:
            levels = Levels(np.arange(first, first + width))
            observed = np.flatnonzero(~np.isnan(holes.table[:, first]) & (data.weight > 0.0))
            movable = movable.joined_to(_movable_categories(observed, levels, table, WRONG_CELLS))
    return movable


def _precisions(data: TrainingData, precision: Any) -> Array:
    """Return by how much a wrong number of each column may be off, in the units of X."""
    learnt, encoder = data.table, data.table.columns.encoder
    if encoder is None:
        names = learnt.columns.feature_names_in
        return column_precision(precision, len(learnt.fill_values), None if names is None else list(names))
    widths = np.zeros(len(learnt.fill_values))
    given = encoder.by_name(precision, "precision")
    widths[encoder.numbers] = column_precision(given, len(encoder.numbers), encoder.names_of_numbers)
    return widths


def _movable_numbers(
    rows: Indices, columns: Indices, values: Array, centers: Array, radii: Array, group: int
) -> MovableRows:
    """Return numbers as units: from their values to the ends of their intervals, rounded outward."""
    below = np.maximum(up(values - down(centers - radii)), 0.0)
    above = np.maximum(up(up(centers + radii) - values), 0.0)
    is_point = (radii == 0.0) & (values == centers)
    return MovableRows.of_numbers(rows, columns, np.where(is_point, 0.0, below), np.where(is_point, 0.0, above), group)


def _movable_categories(rows: Indices, levels: Levels, table: Array, group: int) -> MovableRows:
    """Return categories as units: from the level that the table has to any other."""
    indicators = table[np.ix_(rows, levels.columns)]
    is_level = indicators == 1.0
    if not ((is_level | (indicators == 0.0)).all() and (np.count_nonzero(is_level, axis=1) == 1).all()):
        raise IpubError(
            "A category that may differ (encoded columns {first} to {last}) is not one of its levels, as 0 and 1, in "
            "the filled-in table: fill in categories before they are encoded, and scale the columns of numbers alone.",
            first=int(levels.columns[0]),
            last=int(levels.columns[-1]),
        )
    filled = levels.columns[indicators.argmax(axis=1)]
    return MovableRows.of_categories(rows, filled, [levels.columns] * len(rows), group)
