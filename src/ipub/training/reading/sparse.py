"""Reading of sparse tables: SciPy's matrices and arrays, of which NaN that are stored are the holes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from ipub.certificates import CERTIFICATES
from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.rows.rows import MOST_MATRIX_COLUMNS, Rows
from ipub.rows.slices import KEPT_CELLS
from ipub.rows.sparse import SparseIntervals, SparseRows
from ipub.tables.holes import quantile_probabilities, ranges_of_columns
from ipub.tables.sparse_columns import MOST_CELLS, gibibytes, sparse_floats, summarize_sparse_columns
from ipub.training.reading.labels import read_labels, rows_of_models
from ipub.training.reading.parameters import Parameters
from ipub.training.reading.table import Columns, LearntTable

SLOPE_COLUMNS = 1000
"""Columns up to which "tight" bounds by slopes are tried, so that a sparse table is read as a dense one for them."""


def stays_sparse(parameters: Parameters, X: Any) -> bool:
    """Whether a sparse table is trained on as it is, else it is read as a dense one.

    A small one is not; nor one that is not large, for certificates that make matrices of all pairs of columns.

    Raises IpubError if a parameter needs a dense table, and that would be too large; or if columns are to be centred.
    """
    if parameters.scale is not None:
        raise IpubError(
            f"scale={parameters.scale!r} would turn the zeros of a sparse table into other numbers: set scale=None, "
            "and scale before with MaxAbsScaler of scikit-learn, which keeps zeros."
        )
    if X.ndim != 2:
        raise IpubError("X is a sparse array of one dimension: give a table, one row for each label.")
    n_rows, d = X.shape
    if n_rows * d <= KEPT_CELLS:
        return False
    recipe = None if parameters.certificate is None else CERTIFICATES[parameters.certificate]
    if recipe is not None and recipe.uses_matrices and n_rows * d <= MOST_CELLS:
        most_columns = MOST_MATRIX_COLUMNS if recipe.needs_matrices else SLOPE_COLUMNS
        if d <= most_columns:
            return False
    needed = {
        "precision": parameters.precision is not None,
        "max_label_errors": bool(parameters.max_label_errors),
        "unknown_labels": parameters.unknown_labels,
        "uncertainty": not isinstance(parameters.uncertainty, str),
    }
    for parameter, is_given in needed.items():
        if is_given:
            needs_matrices = parameter == "uncertainty" and d > MOST_MATRIX_COLUMNS
            dense = f"give a dense array (X.toarray(), {gibibytes(n_rows * d)})"
            raise IpubError(
                f"{parameter} is not available for a sparse table of this size: leave it out, or "
                f"{'leave out columns' if needs_matrices else dense}."
            )
    parameters.refuse_conditional("sparse", "give a dense array, or use intervals='quantile'")
    return True


def check_columns(parameters: Parameters, rows: Rows) -> None:
    """Raise an error if a certificate, or a promise, needs matrices that are too large."""
    name, d = parameters.certificate, rows.n_features
    if name is None or rows.allows_matrices:
        return
    matrices = f"matrices of {d:,} x {d:,} ({gibibytes(d * d)} each), which are not made of so wide or sparse a table"
    if not isinstance(parameters.uncertainty, str):
        raise IpubError(
            f"uncertainty={type(parameters.uncertainty).__name__} needs {matrices}: leave it out, or leave out columns."
        )
    if CERTIFICATES[name].needs_matrices:
        raise IpubError(
            f"certificate={name!r} needs {matrices}: set certificate='ball' or 'sphere', or leave out columns."
        )


def read_sparse(
    parameters: Parameters, X: Any, y: Any, sample_weight: Any, target_radius: Array | None
) -> tuple[LearntTable, tuple[Any, ...], Array, NDArray[Any] | None]:
    """Read a sparse table and its labels: how later rows are read, the rows of each model, weights, classes."""
    _ = parameters.penalty  # names an alpha that is too small or too large
    stand_in = object.__new__(parameters.kind)
    validate_data(stand_in, X, accept_sparse=True, dtype="numeric", ensure_all_finite=False)
    table = sparse_floats(X)
    n_rows, d = table.shape
    labels = read_labels(parameters, y, n_rows, sample_weight, target_radius)
    counted = None if (labels.weight > 0.0).all() else labels.weight > 0.0
    level = parameters.interval_level
    ranges = ranges_of_columns(
        lambda numbers, _: summarize_sparse_columns(table, numbers, quantile_probabilities(level), counted),
        d,
        parameters.intervals,
        level,
        None,
    )
    learnt = LearntTable.of(Columns(parameters.kind, d), ranges, np.zeros(d))
    rows = SparseRows(SparseIntervals.from_table(table, ranges), labels.y, labels.weight)
    return learnt, rows_of_models(rows, labels, 0), labels.weight, labels.classes


# --- rows to predict -------------------------------------------------------------------------------


def read_sparse_rows(learnt: LearntTable, X: Any) -> csr_array:
    """Read rows to predict or to bound, NaN where missing."""
    validate_data(
        learnt.columns.stand_in(), X, reset=False, accept_sparse=True, dtype="numeric", ensure_all_finite=False
    )
    return sparse_floats(X)


def filled_sparse_rows(learnt: LearntTable, X: Any) -> csr_array:
    """Read rows to predict; holes take the fill value of their column."""
    table = read_sparse_rows(learnt, X)
    holes = np.isnan(table.data)
    table.data[holes] = learnt.fill_values[table.indices[holes]]
    return table


def uncertain_sparse_rows(learnt: LearntTable, X: Any) -> SparseIntervals:
    """Read rows to bound; holes lie in the interval of their column."""
    return SparseIntervals.from_table(read_sparse_rows(learnt, X), learnt.hole_ranges)
