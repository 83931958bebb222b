"""What a model claims, in plain numbers: the table with its holes, what may vary and by how much, what is trained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.promises import Budget
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.verification.plain_losses import Array, plain_loss
from ipub.verification.plain_training import FilledTable, Objective

Indices = NDArray[np.intp]

HOLES, WRONG = 0, 1
"""Groups of cells that may vary: missing ones, and observed ones that may be wrong."""


class Numbers(NamedTuple):
    """Numbers that may vary, in the units of the table."""

    rows: Indices
    columns: Indices
    low: Array
    high: Array
    group: Indices

    @property
    def middle(self) -> Array:
        """The middle of each interval."""
        return np.clip(0.5 * self.low + 0.5 * self.high, self.low, self.high)


class Categories(NamedTuple):
    """Categories that may have any level: the first of their columns of 0 and 1, and the one after the last."""

    rows: Indices
    first: Indices
    stop: Indices
    group: Indices


class Filling(NamedTuple):
    """A value for all that may vary."""

    numbers: Array
    levels: Indices
    """Of each category, counted from 0."""
    y: Array
    weight: Array


class Limits(NamedTuple):
    """How much may differ from the base filling at once; None is any number."""

    holes: int | None = None
    wrong_cells: int | None = None
    labels: int = 0
    rows: int = 0


@dataclass(frozen=True, eq=False)
class Claim:
    """A training table of one model, what may vary in it, and the rows whose bounds are checked."""

    objective: Objective
    table: Array
    """Shape (n, d): in the units of the user, with categories as columns of 0 and 1; what varies has any value."""
    scaling: Any
    numbers: Numbers
    categories: Categories
    base: Filling
    """What the limits count from."""
    limits: Limits
    free_labels: Indices
    """Rows whose class is unknown."""
    targets: tuple[Array, Array]
    """Ends of the interval of each target."""

    def scaled(self, table: Array) -> Array:
        """Return a table as the model sees it."""
        return in_scale(self.scaling, table)

    def scaled_cells(self, values: Array, columns: Indices) -> Array:
        """Return cells of the given columns as the model sees them."""
        for name, operand in () if self.scaling is None else self.scaling.operations:
            values = getattr(np, name)(values, operand[columns])
        return values

    def filled(self, filling: Filling) -> FilledTable:
        """Return the training table of a filling."""
        table = self.table.copy()
        table[self.numbers.rows, self.numbers.columns] = filling.numbers
        put_levels(table, self.categories, filling.levels)
        X = self.scaled(table)
        if self.objective.has_intercept:
            X = np.column_stack([X, np.ones(len(X))])
        return FilledTable(X, filling.y, filling.weight / filling.weight.sum())


def put_levels(table: Array, categories: Categories, levels: Indices) -> None:
    """Write levels of categories into a table."""
    for row, first, stop, level in zip(categories.rows, categories.first, categories.stop, levels, strict=True):
        table[row, first:stop] = 0.0
        table[row, first + level] = 1.0


def in_scale(scaling: Any, table: Array) -> Array:
    """Return a table after the operations that a model file names."""
    for name, operand in () if scaling is None else scaling.operations:
        table = getattr(np, name)(table, operand)
    return table


class Given(NamedTuple):
    """The training table as it was given to `fit`."""

    X: Any
    y: Any
    sample_weight: Any = None
    X_lower: Any = None
    X_upper: Any = None
    y_lower: Any = None
    y_upper: Any = None


class Cells(NamedTuple):
    """A table of numbers with the interval of each cell; NaN in both ends in all columns of a missing category."""

    table: Array
    low: Array
    high: Array


def read_cells(model: Any, X: Any, X_lower: Any = None, X_upper: Any = None) -> Cells:
    """Return a table with the intervals that a fitted model states: of holes, and of observed cells by precision."""
    if isinstance(X, IntervalMatrix):
        everything = slice(0, X.shape[0])
        table = X.center_rows(everything).copy()
        low, high = table.copy(), table.copy()
        in_row, columns, centers, radii = X.cells(everything)
        low[in_row, columns], high[in_row, columns] = centers - radii, centers + radii
        return Cells(np.where(low < high, np.nan, table), low, high)
    table = np.asarray(model.training_.table.columns.values(X), dtype=float)
    holes = np.isnan(table)
    if X_lower is not None:
        return Cells(table, np.asarray(X_lower, dtype=float), np.asarray(X_upper, dtype=float))
    ranges, precision = model.hole_ranges_, model.precision_
    low, high = np.where(holes, ranges[:, 0], table - precision), np.where(holes, ranges[:, 1], table + precision)
    if model.conditional_intervals_ is not None:
        for each in model.conditional_intervals_.columns:
            rows = np.flatnonzero(holes[:, each.column])
            if len(rows):
                low[rows, each.column], high[rows, each.column] = each.intervals(table[rows])
    for first, stop in level_columns(model):
        missing = holes[:, first]
        # The only level of a category is certain.
        low[missing, first:stop] = high[missing, first:stop] = np.nan if stop - first > 1 else 1.0
    return Cells(table, low, high)


def level_columns(model: Any) -> list[tuple[int, int]]:
    """Return for each column of categories the first of its columns of 0 and 1, and the one after the last."""
    encoder = model.encoder_
    if encoder is None:
        return []
    widths = [1 if levels is None else len(levels) for levels in encoder.levels]
    stops = np.cumsum(widths)
    return [
        (int(stop) - width, int(stop))
        for levels, stop, width in zip(encoder.levels, stops, widths, strict=True)
        if levels
    ]


def claims_of(model: Any, given: Given) -> list[Claim]:
    """Return what a fitted model claims of the table that it was trained on; one claim for each model it consists of.

    Raises IpubError if the filling of a budget is not part of the model.
    """
    cells = read_cells(model, given.X, given.X_lower, given.X_upper)
    budget = model.uncertainty if isinstance(model.uncertainty, Budget) else None
    numbers, categories, n_holes = _what_varies(model, cells, budget)
    labels = [_read_targets(given)] if not hasattr(model, "classes_") else _read_classes(model, given)
    weight = labels[0].weight
    limits = _limits(model, budget, n_holes)
    objective = Objective(
        plain_loss(model.loss, getattr(model, "hinge_width", 1.0), getattr(model, "huber_delta", 1.0)),
        model.alpha_ * (1.0 - model.l1_ratio),
        model.alpha_ * model.l1_ratio,
        bool(model.fit_intercept),
    )
    values, levels = _base(cells, numbers, categories, budget, weight > 0.0, model)
    claims = []
    for each in labels:
        base = Filling(values, levels, each.y, each.weight)
        ends = (each.y, each.y) if each.ends is None else each.ends
        claims.append(
            Claim(objective, cells.table, model.scaling_, numbers, categories, base, limits, each.unknown, ends)
        )
    return claims


def _limits(model: Any, budget: Budget | None, n_holes: int) -> Limits:
    """Return how much may differ; a share is counted as it is written, in decimal."""
    if budget is None:
        return Limits(labels=int(getattr(model, "max_label_errors", 0)))
    count = n_holes
    if budget.cells is not None:
        count = min(int(budget.cells), n_holes)
    elif budget.share is not None:
        count = int(Decimal(str(budget.share)) * n_holes)
    return Limits(count, int(budget.wrong_cells), int(budget.labels), int(budget.rows))


def promised_counts(promise: str) -> dict[str, int]:
    """Return the numbers that the sentence of a budget names, by what it counts.

    Examples
    --------
    >>> promised_counts("at most 4 of the 1,090 missing values differ from the filled-in ones")
    {'holes': 4, 'n_holes': 1090}
    """
    found = {}
    match = re.search(r"(any|all|at most [\d,]+)(?: of the)? ([\d,]+) missing values", promise)
    if match is not None:
        total = int(match[2].replace(",", ""))
        counts = {"any": total, "all": 0}
        found["holes"] = counts[match[1]] if match[1] in counts else int(match[1][8:].replace(",", ""))
        found["n_holes"] = total
    for name, words in (("wrong_cells", "observed cells"), ("labels", "labels"), ("rows", "rows")):
        match = re.search(rf"at most ([\d,]+) of the {words}", promise)
        if match is not None:
            found[name] = int(match[1].replace(",", ""))
    return found


def _what_varies(model: Any, cells: Cells, budget: Budget | None) -> tuple[Numbers, Categories, int]:
    """Return the numbers and the categories that may vary, and how many values are missing."""
    spans = level_columns(model)
    is_level = np.zeros(cells.table.shape[1], dtype=bool)
    for first, stop in spans:
        is_level[first:stop] = True
    missing = np.isnan(cells.table) & ~is_level
    rows, columns = np.nonzero(~is_level & ((cells.low < cells.high) | missing))
    parts = [Numbers(rows, columns, cells.low[rows, columns], cells.high[rows, columns], np.full(len(rows), HOLES))]
    found = [
        (int(row), first, stop, HOLES)
        for first, stop in spans
        if stop - first > 1
        for row in np.flatnonzero(np.isnan(cells.low[:, first]))
    ]
    n_holes = max(int(missing.sum()), len(rows)) + len(found)
    if budget is not None and budget.wrong_cells:
        rows, columns = np.nonzero(~is_level & ~np.isnan(cells.table))
        value, off = cells.table[rows, columns], _precision(model, budget.precision)[columns]
        ends = model.hole_ranges_[columns].T
        low = np.minimum(ends[0], value) if budget.precision is None else value - off
        high = np.maximum(ends[1], value) if budget.precision is None else value + off
        parts.append(Numbers(rows, columns, low, high, np.full(len(rows), WRONG)))
        found += [
            (int(row), first, stop, WRONG)
            for first, stop in spans
            if stop - first > 1
            for row in np.flatnonzero(~np.isnan(cells.table[:, first]))
        ]
    numbers = Numbers(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    categories = Categories(*np.array(found, dtype=np.intp).reshape(-1, 4).T)
    return numbers, categories, n_holes


def _precision(model: Any, given: Any) -> Array:
    """Return by how much a wrong number of each column may be off."""
    names = list(model.get_feature_names_out())
    if not hasattr(given, "items"):
        return np.full(len(names), 0.0 if given is None else float(given))
    found = np.zeros(len(names))
    for name, value in given.items():
        found[name if isinstance(name, int) else names.index(str(name))] = value
    return found


def _base(
    cells: Cells,
    numbers: Numbers,
    categories: Categories,
    budget: Budget | None,
    counted: NDArray[np.bool_],
    model: Any,
) -> tuple[Array, Indices]:
    """Return what a budget counts from: the filled-in value of each hole, and what was observed in other cells."""
    how: Any = None if budget is None else budget.filling
    values = numbers.middle
    observed = cells.table[numbers.rows, numbers.columns]
    values = np.where((numbers.group == WRONG) & ~np.isnan(observed), observed, values)
    tables: Any = None
    if how is None or (isinstance(how, str) and how in ("middle", "mean", "median")):
        if how in ("mean", "median"):
            for k in np.flatnonzero(numbers.group == HOLES).tolist():
                column = cells.table[counted, numbers.columns[k]]
                column = column[~np.isnan(column)]
                if len(column):
                    center = np.mean(column) if how == "mean" else np.median(column)
                    values[k] = np.clip(center, numbers.low[k], numbers.high[k])
    elif isinstance(how, str) or hasattr(how, "fit_transform"):
        raise IpubError(
            "The filling of the budget is not part of the model: give verify the fitted estimator, with the filled-in "
            "table as the filling of its Budget."
        )
    else:
        tables = np.asarray(model.training_.table.columns.values(how), dtype=float)
        values = tables[numbers.rows, numbers.columns]
    levels = np.zeros(len(categories.rows), dtype=np.intp)
    for k, (row, first, stop, group) in enumerate(np.column_stack(categories).tolist()):
        if group == WRONG:
            levels[k] = int(np.argmax(cells.table[row, first:stop]))
        elif tables is not None:
            levels[k] = int(np.argmax(tables[row, first:stop]))
        else:
            levels[k] = int(np.argmax(np.nansum(cells.table[counted, first:stop], axis=0)))
    return values, levels


class _Labels(NamedTuple):
    y: Array
    weight: Array
    unknown: Indices
    ends: tuple[Array, Array] | None = None


def _read_targets(given: Given) -> _Labels:
    """Read the targets of a regression."""
    low, high = given.y_lower, given.y_upper
    if low is None:
        y = np.asarray(given.y, dtype=float).ravel()
        return _Labels(y, _weights(given, len(y)), np.zeros(0, dtype=np.intp))
    ends = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return _Labels(0.5 * ends[0] + 0.5 * ends[1], _weights(given, len(ends[0])), np.zeros(0, dtype=np.intp), ends)


def _read_classes(model: Any, given: Given) -> list[_Labels]:
    """Read the labels of a classification, for each model of one class against the others."""
    values: Sequence[Any] = given.y.tolist() if hasattr(given.y, "tolist") else list(given.y)
    classes: list[Any] = model.classes_.tolist()
    unknown = np.array([value is None or value != value for value in values], dtype=bool)
    foreign = [
        value for value, is_unknown in zip(values, unknown, strict=True) if not is_unknown and value not in classes
    ]
    if foreign:
        raise IpubError(
            f"y has the class {foreign[0]!r}, which the model does not know: give the table it was trained on."
        )
    numbers = np.array([0 if is_unknown else classes.index(value)
                        for value, is_unknown in zip(values, unknown, strict=True)])  # fmt: skip
    weight = _weights(given, len(values))
    how = model.class_weight
    if how == "balanced":
        totals = np.array([weight[numbers == k].sum() for k in range(len(classes))])
        weight = weight * (totals.sum() / (len(classes) * totals))[numbers]
    elif how is not None:
        weight = weight * np.array([float(how.get(label, 1.0)) for label in classes])[numbers]
    chosen = [1] if len(classes) == 2 else range(len(classes))
    return [_Labels(np.where(numbers == k, 1.0, -1.0), weight, np.flatnonzero(unknown)) for k in chosen]


def _weights(given: Given, n: int) -> Array:
    return np.ones(n) if given.sample_weight is None else np.asarray(given.sample_weight, dtype=float)
