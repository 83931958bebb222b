"""Why a prediction is certain or not: everything that is known of one row, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ipub.answers.certainty import is_certain
from ipub.answers.missing_values import MissingValues
from ipub.answers.status import CERTAIN, UNPROVED, prediction_status
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.brackets import Brackets, brackets_of
from ipub.answers.tipping.explanation import Change, Explanation, Part, Tipping, TopCell
from ipub.answers.tipping.filled_in import why_without_filling
from ipub.answers.tipping.flipping import Flip
from ipub.answers.tipping.growth import growth_of
from ipub.answers.value_effects import ValueEffects
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import IntervalMatrix, completed_cells
from ipub.tables.levels import UnknownLevels
from ipub.tables.new_frames import frame_of
from ipub.training import Training

MOST_TOP_CELLS = 10
"""Missing values that are listed because they matter, at most."""


@dataclass(frozen=True, eq=False)
class Scale:
    """What is bounded, as users read it, and how it follows from the scores of the models."""

    quantity: str
    value: Callable[[Array], Array]
    """Takes scores of rows under each model, shape (m, K), and returns (m,)."""
    bounds: Callable[[Array], Array]
    """Takes bounds of scores as `Training.score_bounds` returns them, and returns (m, 2)."""
    all_bounds: Callable[[Array], Array]
    """The same of all classes, where there are more than two: (m, n_classes, 2)."""
    threshold: float | None
    """Where the prediction changes, on this scale."""


class Question(NamedTuple):
    """A row that is asked about."""

    X: Any
    """As it was given: a table of one row."""
    rows: IntervalMatrix
    center: Array
    """Shape (1, d): as `predict` sees it, scaled."""
    label: Any
    prediction: Any
    scores: Array
    """Shape (1, K)."""
    threshold: float | None
    """Of the score; None in a regression without one."""
    scale: Scale
    effort: float
    verbose: int


def explain_row(training: Training, asked: Question) -> Explanation:
    """Bound a row, find what would change its prediction, and which missing values matter."""
    training.check_certified()
    missing = MissingValues.of(training)
    scale, notes, brackets = asked.scale, [], None
    bounds = training.score_bounds(asked.rows, effort=asked.effort)
    why_not = why_without_filling(training)
    if asked.threshold is not None and why_not is not None:
        notes.append(why_not)
    elif asked.threshold is not None:
        brackets = brackets_of(
            training,
            asked.rows,
            asked.threshold,
            effort=asked.effort,
            verbose=asked.verbose,
        )
    flip = None if brackets is None else brackets.flips[0]
    status = _status(training, asked, bounds, brackets)
    changed = () if brackets is None or flip is None else tuple(_changes(brackets, flip))
    own = [] if brackets is None or flip is None else _own_values(brackets, flip, asked)
    top = tuple(_top_cells(training, missing, asked))
    own_names = ("column", "filled_in", "value")

    def grow() -> Any:
        if status != CERTAIN or asked.threshold is None:
            return None
        return growth_of(training, AskedRows.of(training, asked.rows), asked.threshold)

    return Explanation(
        row=asked.label,
        prediction=asked.prediction,
        value=float(scale.value(asked.scores)[0]),
        quantity=scale.quantity,
        bounds=scale.all_bounds(bounds)[0],
        threshold=scale.threshold,
        status=status,
        tipping=None if brackets is None else Tipping(float(brackets.at_least[0]), float(brackets.at_most[0])),
        n_missing=len(missing) if brackets is None else brackets.filled.n_missing,
        changes=_frame(changed, Change._fields, missing),
        filling=None if flip is None else missing.table(flip.positions),
        own_values=_frame(own, own_names, missing),
        top_cells=_frame(top, TopCell._fields, missing),
        parts=_parts(training, asked, bounds),
        promise=training.certificates[0].promise,
        notes=tuple(notes),
        changed=changed,
        top=top,
        is_regression=training.classes is None,
        grow=grow,
    )


def _status(training: Training, asked: Question, bounds: Array, brackets: Brackets | None) -> str | None:
    if asked.threshold is None:
        return None
    if brackets is not None:
        return str(brackets.status[0])
    if training.classes is None:
        return CERTAIN if is_certain(bounds, asked.threshold)[0] else UNPROVED
    return str(prediction_status(training, asked.rows, asked.effort)[0])


def _parts(training: Training, asked: Question, bounds: Array) -> tuple[Part, ...]:
    """Bound the prediction with only the training table's missing values, only the row's own, and both."""
    scale, rows = asked.scale, asked.rows
    both = Part("both", *scale.bounds(bounds)[0].tolist())
    own = AskedRows.of(training, rows)
    if not own.is_uncertain:
        value = float(scale.value(asked.scores)[0])
        return both._replace(source="training table"), Part("row", value, value), both
    table = training.score_bounds(IntervalMatrix.from_bounds(asked.center, asked.center), effort=asked.effort)
    ends = []
    weights = np.column_stack([training.coef, training.intercept]) if training.fit_intercept else training.coef
    for w in weights:
        ends.append([float(own.highest(0, side * w) @ w) for side in (-1.0, 1.0)])
    of_row = np.array(ends)[None] if len(ends) > 1 else np.array(ends)
    named = ("training table", table), ("row", of_row)
    return *(Part(source, *scale.bounds(each)[0].tolist()) for source, each in named), both


def _changes(brackets: Brackets, flip: Flip) -> list[Change]:
    missing = brackets.filled.missing
    changed = flip.changed(brackets.filled)
    places = zip(changed, missing.row_labels(changed), missing.column_labels(changed), strict=True)
    return [
        Change(row, column, missing.in_units(k, missing.filled_in[k]), missing.in_units(k, flip.positions[k]))
        for k, row, column in places
    ]


def _own_values(brackets: Brackets, flip: Flip, asked: Question) -> list[tuple[Any, Any, Any]]:
    """Return the missing values of the row itself with which it changes, in units."""
    own, table, holes = brackets.asked, brackets.filled.training.table, brackets.filled.missing.holes
    v = flip.aim.direction(flip.models)
    unscaled = replace(table, scaling=None).uncertain_rows(asked.X, UnknownLevels())
    _, columns, centers, radii = unscaled.cells(slice(0, 1))
    values = completed_cells(centers, radii, np.sign(v[columns]))
    found: list[tuple[Any, Any, Any]] = [
        (holes.label(int(column)), float(center), float(value))
        for column, center, radius, value in zip(columns, centers, radii, values, strict=True)
        if radius > 0.0
    ]
    encoder = table.columns.encoder
    for levels, level in own.levels(0, v):
        assert encoder is not None
        column = int(np.searchsorted(encoder.starts, levels[0], side="right")) - 1
        found.append((encoder.columns[column], None, (encoder.levels[column] or ())[level]))
    return found


def _top_cells(training: Training, missing: MissingValues, asked: Question) -> list[TopCell]:
    """Return the missing values that alone move the prediction most, to first order."""
    if not len(missing):
        return []
    x = np.column_stack([asked.center, np.ones(1)]) if training.fit_intercept else asked.center
    models = [_effects(training, missing, k) for k in range(len(training.models))]
    moved = np.column_stack([each.of_rows(x)[0] for each in models])
    values, before = asked.scale.value(asked.scores + moved), float(asked.scale.value(asked.scores)[0])
    lowest, highest = np.full(len(missing), before), np.full(len(missing), before)
    np.minimum.at(lowest, models[0].value, values)
    np.maximum.at(highest, models[0].value, values)
    top = np.argsort(-(highest - lowest), kind="stable")[:MOST_TOP_CELLS]
    top = top[highest[top] > lowest[top]]
    places = zip(top, missing.row_labels(top), missing.column_labels(top), strict=True)
    return [TopCell(row, column, float(lowest[k]), float(highest[k])) for k, row, column in places]


def _effects(training: Training, missing: MissingValues, model: int) -> ValueEffects:
    """Return the effects of single missing values on the scores under a model; they are kept for other rows."""
    key = ("effects", model)
    if key not in training.kept:
        training.kept[key] = ValueEffects.of(training, missing, model)
    found: ValueEffects = training.kept[key]
    return found


def _frame(lines: Any, names: tuple[str, ...], missing: MissingValues) -> Any:
    """Return lines as a frame of the library of the training table; mixed values as text, if it has no such columns."""
    like, columns = missing.holes.X, dict(zip(names, map(list, zip(*lines, strict=True)), strict=False))
    columns = {name: columns.get(name, []) for name in names}
    if type(like).__module__.split(".")[0] in ("polars", "pyarrow"):
        for name, values in columns.items():
            if len({type(value) for value in values if value is not None}) > 1:
                columns[name] = [None if value is None else str(value) for value in values]
    return frame_of(columns, like=like)
