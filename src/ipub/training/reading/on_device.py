"""Reading of tables and labels in arrays of CuPy, PyTorch or the array API: they stay where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import LARGEST, Array, midpoint_and_radius
from ipub.rows.array import ArrayRows, device_memory, refuse_large_cells
from ipub.rows.device import DeviceArray, Library, is_foreign, library_of
from ipub.rows.slices import KEPT_CELLS
from ipub.tables.holes import column_ranges
from ipub.tables.interval_matrix import Indices
from ipub.tables.missing_category import NOTHING_MISSING, MissingCategories
from ipub.training.reading.labels import Labels, read_labels, rows_of_models
from ipub.training.reading.parameters import Parameters
from ipub.training.reading.table import Columns, LearntTable

SCAN_CELLS = 1 << 27
"""Cells of a table on a device that are looked at in one go."""


def in_memory(values: Any) -> Any:
    """Return an array of another library as NumPy's; anything else as it is."""
    if values is None or type(values) is np.ndarray or not is_foreign(values):
        return values
    return library_of(values).numpy(values)


def stays_on_device(parameters: Parameters, X: Any, *bounds: Any) -> bool:
    """Whether a table is trained on and certified where it is.

    A small one is not: the processor is as fast. Nor is one whose cells have bounds of their own, or a precision, or a
    scale, or where labels are uncertain or `uncertainty` is not "worst": these are read into memory.
    """
    if not is_foreign(X) or X.ndim != 2 or X.shape[0] * X.shape[1] <= KEPT_CELLS:
        return False
    is_plain = parameters.precision is None and parameters.scale is None and isinstance(parameters.uncertainty, str)
    has_certain_labels = not parameters.unknown_labels and not parameters.max_label_errors
    return is_plain and has_certain_labels and all(bound is None for bound in bounds)


def read_on_device(
    parameters: Parameters, X: Any, y: Any, sample_weight: Any
) -> tuple[LearntTable, tuple[Any, ...], Array, NDArray[Any] | None]:
    """Read a table on a device and its labels: how later rows are read, the rows of each model, weights, classes."""
    _ = parameters.penalty  # names an alpha that is too small or too large
    parameters.refuse_conditional("on a device", "give a NumPy array, or use intervals='quantile'")
    with device_memory():
        table = _checked(DeviceArray(X), isinstance(parameters.intervals, (str, Mapping)))
        labels, weight = _labels(parameters, y, len(table), sample_weight, table.library)
        counted = None if weight is None or (weight > 0.0).all() else weight > 0.0
        columns = Columns(parameters.kind, table.shape[1])
        ranges = column_ranges(table, parameters.intervals, parameters.interval_level, None, counted)  # type: ignore[arg-type]
        learnt = LearntTable.of(columns, ranges, np.zeros(table.shape[1]))
        rows = ArrayRows(table, labels.y, ranges, weight)
    return learnt, rows_of_models(rows, labels, 0), labels.weight, labels.classes


def _checked(table: DeviceArray, is_checked_now: bool = True) -> DeviceArray:
    """Return a table of floats; raise an error that names a cell that is infinite or too large.

    Where nothing is learnt from the values, that is found with the holes, when the rows are first read.
    """
    if table.dtype.kind != "f":
        table = table.astype(float)
    if 0 in table.shape:
        raise IpubError(f"X has shape {table.shape}: at least one row and one column are needed.")
    for rows in row_slices(len(table), table.shape[1], SCAN_CELLS) if is_checked_now else ():
        refuse_large_cells(table[rows], rows.start)
    return table


def _labels(
    parameters: Parameters, y: Any, n_rows: int, sample_weight: Any, library: Library
) -> tuple[Labels, Array | None]:
    """Read labels where they are, if there are weights of neither rows nor classes; and the weights, None if equal."""
    if is_foreign(y) and sample_weight is None and parameters.class_weight is None and y.shape == (n_rows,):
        given = DeviceArray(y)
        if given.library.device == library.device:
            is_classification = parameters.loss.task == "classification"
            read = _two_classes(given) if is_classification else _targets(given)
            if read is not None:
                return read, None
    labels = read_labels(parameters, in_memory(y), n_rows, in_memory(sample_weight), None)
    is_weighted = not (labels.weight == 1.0).all()
    on_device = DeviceArray(library.array(labels.y), library)
    return labels._replace(y=on_device), labels.weight if is_weighted else None  # type: ignore[arg-type]


def _two_classes(y: DeviceArray) -> Labels | None:
    """Return the labels if they are two whole numbers, else None."""
    if y.dtype.kind not in "iuf":
        return None
    first, last = y.min().item(), y.max().item()
    if not -np.inf < first < last < np.inf or int(first) != first or int(last) != last:
        return None
    is_last = y == last
    if not (is_last | (y == first)).all():
        return None
    targets: Any = np.where(is_last, 1.0, -1.0)
    return Labels(targets, np.broadcast_to(1.0, len(y)), np.array([first, last], dtype=y.dtype))


def _targets(y: DeviceArray) -> Labels | None:
    """Return targets that are numbers of a size that is allowed, else None."""
    targets: Any = y.astype(float)
    return Labels(targets, np.broadcast_to(1.0, len(y))) if (np.abs(targets) <= LARGEST).all() else None


# --- rows to predict -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DeviceIntervals:
    """Rows to bound, on a device: what `IntervalMatrix` says of rows in memory."""

    center: DeviceArray
    in_row: Indices
    columns: Indices
    radii: Array
    missing_categories: MissingCategories = NOTHING_MISSING

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return self.center.shape

    def cells(self, rows: slice) -> tuple[Indices, Indices, None, Array]:  # noqa: ARG002 (all rows)
        """Return row, column and radius of the missing cells."""
        return self.in_row, self.columns, None, self.radii

    def center_rows(self, rows: slice) -> DeviceArray:  # noqa: ARG002 (all rows)
        """Return the rows, with missing cells at the middle of their intervals."""
        return self.center


def filled_rows(learnt: LearntTable, X: Any) -> DeviceArray:
    """Read rows to predict; holes take the fill value of their column."""
    table = _rows(learnt, X)
    filled: Any = np.where(np.isnan(table), learnt.fill_values, table)
    return filled.astype(float, copy=False)  # type: ignore[no-any-return]


def uncertain_rows(learnt: LearntTable, X: Any) -> DeviceIntervals:
    """Read rows to bound; holes lie in the interval of their column."""
    table, d = _rows(learnt, X), len(learnt.fill_values)
    centers, radii = midpoint_and_radius(learnt.hole_ranges[:, 0], learnt.hole_ranges[:, 1])
    centers_there, radii_there = (DeviceArray(table.library.array(each), table.library) for each in (centers, radii))
    holes = np.isnan(table)
    places: Any = np.flatnonzero(holes & (radii_there > 0.0))
    in_row = places // d
    columns = places - in_row * d
    center: Any = np.where(holes, centers_there, table)
    return DeviceIntervals(center.astype(float, copy=False), in_row, columns, radii_there[columns])  # type: ignore[arg-type]


def _rows(learnt: LearntTable, X: Any) -> DeviceArray:
    expected = learnt.columns.n_features_in
    if X.ndim != 2:
        raise IpubError(f"X must be a table (2 dimensions), got {X.ndim} dimension(s).")
    if X.shape[1] != expected:
        raise IpubError(
            f"X has {X.shape[1]} features, but {learnt.columns.kind.__name__} is expecting {expected} features as "
            "input."
        )
    return _checked(DeviceArray(X))
