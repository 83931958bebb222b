"""Training and certificates around a filled-in table: budgets (lem-budget)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ipub.certificates import ANY_FILLING, CERTIFICATES, Certificate, TrainedModel
from ipub.certificates.row_sums.bounds import (
    RowSumBounds,
    bounds_around_filling,
    has_proved_ranges,
    narrowed_by_all_fillings,
    with_box,
)
from ipub.errors import IpubError, IpubWarning, LetOneDiffer, warn_user
from ipub.model_sets.base import ModelSet, Outcome
from ipub.model_sets.region import Region
from ipub.numeric.parallel import single_threaded_blas
from ipub.numeric.rounding import Array, check_arithmetic, down, up
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.promises import Budget
from ipub.rows import MemoryRows, Rows, engine_of, on_engine, with_wrong_labels
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows
from ipub.training.imputing.drawn_tables import DrawnTables
from ipub.training.imputing.fillings import filling_of
from ipub.training.imputing.holes import holes_of
from ipub.training.models import problem_of, train
from ipub.training.movable import check_labels_and_rows, movable_cells, movable_holes, refuse_other_uncertainty
from ipub.training.reading import Parameters, TrainingData
from ipub.training.training import Around, Training

Source = tuple[Any, ArrayLike | None, ArrayLike | None]
"""The training table as it was given to `fit`, and the bounds of its cells."""

NOT_PROVED = (
    "No bounds around the filled-in table could be proved: {why}. The bounds are those of {instead}, which are wider."
)
"""The note where the budget is not used."""

LESS_THAN_ONE = "{share} of {n} missing values is less than one: the budget is 0; {remedy} lets one differ."
"""The warning where a share lets no missing value differ."""

LARGE_SHARE = 1 / 16
"""Budgets of more than this share of the missing values meet what is proved of any filling, which may be narrower:
width against time."""

UNBOUNDED = (
    "No bounds around the filled-in table could be proved: {why}. Nothing else is known of tables without some of "
    "their rows, so every bound is infinite."
)
"""The note where nothing is."""


@dataclass(frozen=True, eq=False)
class FilledTraining:
    """A filled-in training table, the models trained on it, and what may differ from it."""

    table: Array
    """Shape (n_rows, n_columns): the filled-in table, as the models see it, without a column for the intercept."""
    models: tuple[TrainedModel, ...]
    """Trained on it."""
    movable: MovableRows
    """Its holes and its observed cells, each with the ways in which it may differ."""
    n_holes: int
    """Number of missing values; a missing category counts as one."""
    of_all: list[Certificate] = field(default_factory=list, repr=False)
    """Of each model, for any filling; empty until a budget has asked for them."""

    def weights(self) -> list[Array]:
        """Return those of each model."""
        return [model.solution.w for model in self.models]

    def boxes(self) -> IntervalMatrix:
        """Return the smallest table of intervals that contains all tables in which anything differs."""
        movable = self.movable
        lower, upper = self.table.copy(), self.table.copy()
        rows = movable.rows[movable.option_row]
        for columns, amounts in zip(movable.option_columns.T, movable.option_amounts.T, strict=True):
            ends = self.table[rows, columns] + amounts
            np.minimum.at(lower, (rows, columns), np.where(amounts < 0.0, down(ends), np.inf))
            np.maximum.at(upper, (rows, columns), np.where(amounts > 0.0, up(ends), -np.inf))
        return IntervalMatrix.from_bounds(lower, upper)


def certify_filled(
    parameters: Parameters,
    data: TrainingData,
    uncertainty: Budget,
    source: Source,
    table: Array | None = None,
    reference: Callable[[Problem], Solution] | None = None,
) -> Training:
    """Train on a filled-in table, and certify all tables that differ from it as `uncertainty` allows.

    With no certificate nothing is certified. `table` is the filled-in one as the models see it; else it is filled here.
    `reference` returns the solution of a problem that is certified from; else models are trained.
    """
    filled = train_on_filled(parameters, data, uncertainty, source, table, reference)
    attempts = [] if parameters.certificate is None else attempt_budget(filled, uncertainty)
    return training_around(parameters, data, filled, uncertainty, attempts)


def attempt_budget(filled: FilledTraining, uncertainty: Budget) -> list[Outcome[RowSumBounds]]:
    """Try to bound each model over the tables that a budget allows."""
    moves = moves_of(uncertainty, filled)
    with single_threaded_blas(filled.models[0].problem.rows.n_features):
        return [bounds_around_filling(*model, filled.movable, moves) for model in filled.models]


def training_around(
    parameters: Parameters,
    data: TrainingData,
    filled: FilledTraining,
    uncertainty: Budget,
    attempts: Sequence[Outcome[RowSumBounds]],
) -> Training:
    """Return the training whose bounds are those of `attempt_budget`, without which nothing is certified.

    Where an attempt failed the bounds are those of any filling; if observed cells may be wrong, those of all cells.
    """
    with single_threaded_blas(data.rows[0].n_features):
        certificates = _certificates(parameters, data, filled, uncertainty, attempts) if attempts else ()
        training = Training.of(parameters, data, filled.models, certificates)
    for model in filled.models:
        model.problem.rows.clear_cache()
    return replace(training, around=Around(filled.movable, moves_of(uncertainty, filled), filled.n_holes))


# --- the filled-in table ----------------------------------------------------------------------------------------------


def train_on_filled(
    parameters: Parameters,
    data: TrainingData,
    uncertainty: Budget,
    source: Source,
    table: Array | None = None,
    reference: Callable[[Problem], Solution] | None = None,
) -> FilledTraining:
    """Fill the table, train on it, and find what may differ from it; nothing is certified."""
    uncertainty.check()
    check_arithmetic()
    refuse_other_uncertainty("Budgets", parameters, data)
    check_labels_and_rows(uncertainty, parameters, data)
    engine = engine_of(data.rows[0])
    if not isinstance(engine, MemoryRows):
        raise IpubError("The table is filled in memory, and X is a memory-mapped file: load it with numpy.array(X).")
    holes = holes_of(data, *source)
    if table is None or uncertainty.filling is not None:
        tables = DrawnTables.of(holes, engine.matrix, np.arange(engine.n_rows), 0.0)
        matrix = tables.matrix(filling_of(uncertainty.filling, holes))
        table = matrix.center_rows(slice(0, matrix.shape[0]))
    else:
        table = _with_values_of(engine.matrix, table)
    rows = MemoryRows(IntervalMatrix.from_bounds(table, table), engine.y, engine.weight)
    models = [on_engine(each, rows) for each in data.rows]
    if reference is None:
        trained = train(parameters, models)
    else:
        problems = [problem_of(parameters, each) for each in models]
        trained = tuple(TrainedModel(problem, reference(problem)) for problem in problems)
    movable = movable_holes(engine.matrix, table)
    if uncertainty.wrong_cells:
        movable = movable.joined_to(movable_cells(data, holes, table, uncertainty.precision))
    n_holes = count_missing(engine.matrix, holes.table, movable)
    if uncertainty.share and n_holes and not uncertainty.count(n_holes):
        share = f"{100.0 * float(uncertainty.share):g} %"
        warn_user(IpubWarning(LESS_THAN_ONE, share=share, n=f"{n_holes:,}", remedy=LetOneDiffer()))
    return FilledTraining(table, trained, movable, n_holes)


def count_missing(matrix: IntervalMatrix, table: Array, movable: MovableRows) -> int:
    """Count missing values, those that have one possible value alone included, and given intervals."""
    is_number, missing = np.isnan(table), matrix.missing_categories
    for _, levels in missing.by_category():
        is_number[:, levels.columns] = False
    return max(int(np.count_nonzero(is_number)) + len(missing), int(np.count_nonzero(movable.unit_group == HOLES)))


def _with_values_of(matrix: IntervalMatrix, table: Array) -> Array:
    """Return the table with another's values in its holes; observed cells are as they were read (fp-problem)."""
    everything = slice(0, matrix.shape[0])
    filled = np.array(matrix.center_rows(everything), dtype=float)
    in_row, columns, _, _ = matrix.cells(everything)
    filled[in_row, columns] = table[in_row, columns]
    missing = matrix.missing_categories
    for which, levels in missing.by_category():
        cells = np.ix_(missing.rows[which], levels.columns)
        filled[cells] = table[cells]
    return filled


# --- certificates -----------------------------------------------------------------------------------------------------


def _certificates(
    parameters: Parameters,
    data: TrainingData,
    filled: FilledTraining,
    uncertainty: Budget,
    attempts: Sequence[Outcome[RowSumBounds]],
) -> tuple[Certificate, ...]:
    """Return the certificate of each model: of the tables around a filled-in one, or of more where that failed."""
    assert parameters.certificate is not None
    is_any_filling = not uncertainty.has_more_than_holes and all(attempt.found is None for attempt in attempts)
    # One sentence for all classes: what holds for each of them.
    promise = ANY_FILLING if is_any_filling else uncertainty.promise(filled.n_holes)
    failed = any(attempt.found is None for attempt in attempts)
    others = _others(parameters, data, filled, uncertainty) if failed else ()
    wider = _wider(parameters, data, filled, uncertainty, others)
    instead = "all cells" if uncertainty.wrong_cells else "any filling"
    instead += " with as many wrong labels" if uncertainty.labels else ""
    not_proved = UNBOUNDED if uncertainty.rows else NOT_PROVED
    certificates = []
    for k, (attempt, model) in enumerate(zip(attempts, filled.models, strict=True)):
        if attempt.found is not None:
            found, more = attempt.found, tuple[ModelSet, ...]()
            if wider is not None:
                if has_proved_ranges(wider[k]):
                    found = narrowed_by_all_fillings(found, wider[k])
                # The box of weights that the budget proves takes the place of other regions.
                more = tuple(part for part in wider[k].parts if not isinstance(part, Region))
            certificate = Certificate(parameters.certificate, (*with_box(found), *more), model.solution.gap)
        else:
            note = not_proved.format(why=attempt.note, instead=instead)
            certificate = replace(others[k], name=parameters.certificate, gap=model.solution.gap, note=note)
        certificates.append(replace(certificate, promise=promise))
    return tuple(certificates)


def _wider(
    parameters: Parameters,
    data: TrainingData,
    filled: FilledTraining,
    uncertainty: Budget,
    others: Sequence[Certificate],
) -> Sequence[Certificate] | None:
    """Return certificates for any filling, which a budget of missing values alone meets; None where it is small."""
    may_be_wider = bool(others) or uncertainty.count(filled.n_holes) > LARGE_SHARE * filled.n_holes
    if uncertainty.has_more_than_holes or not may_be_wider:
        return None
    if not filled.of_all:
        filled.of_all.extend(others or _others(parameters, data, filled, uncertainty))
    return filled.of_all


def moves_of(uncertainty: Budget, filled: FilledTraining) -> BudgetMoves:
    """Return the set of moves that certificates use."""
    n_observed = int(np.count_nonzero(filled.movable.unit_group == WRONG_CELLS))
    cells = uncertainty.count(filled.n_holes), min(int(uncertainty.wrong_cells), n_observed)
    return BudgetMoves((*cells, min(int(uncertainty.labels), len(filled.table)), int(uncertainty.rows)))


def _others(
    parameters: Parameters, data: TrainingData, filled: FilledTraining, uncertainty: Budget
) -> tuple[Certificate, ...]:
    """Certify any filling of the same table; with wrong cells, any table in which every cell is in its interval.

    As many labels may be wrong. Of tables without some of their rows nothing is known. Intervals are made wide enough
    for the filled-in values, which an imputer may have put outside them.
    """
    assert parameters.certificate is not None
    if uncertainty.rows:
        unknown = (_anywhere(model) for model in filled.models)
        return tuple(Certificate(parameters.certificate, (each,), 0.0) for each in unknown)
    recipe = CERTIFICATES[parameters.certificate]
    recipe = CERTIFICATES["tight"] if recipe.retrains else recipe
    rows = _of_wrong_cells(data, filled) if uncertainty.wrong_cells else any_filling(data, filled)
    if uncertainty.labels:
        rows = tuple(with_wrong_labels(each, int(uncertainty.labels)) for each in rows)
    models = train(replace(parameters, verbose=0), rows, filled.weights())
    certificates = tuple(recipe(*model) for model in models)
    for model in models:
        model.problem.rows.clear_cache()
    return certificates


def any_filling(data: TrainingData, filled: FilledTraining) -> tuple[Rows, ...]:
    """Return the rows of each model with missing values anywhere in their intervals, or where they are filled in."""
    engine = engine_of(data.rows[0])
    assert isinstance(engine, MemoryRows)
    return _with_cells(data, engine, _widened(engine.matrix, filled.table))


def _of_wrong_cells(data: TrainingData, filled: FilledTraining) -> tuple[Rows, ...]:
    """Return the rows of each model with all that may differ anywhere it may be."""
    engine = engine_of(data.rows[0])
    assert isinstance(engine, MemoryRows)
    return _with_cells(data, engine, filled.boxes())


def _with_cells(data: TrainingData, engine: MemoryRows, matrix: IntervalMatrix) -> tuple[Rows, ...]:
    if matrix is engine.matrix:
        return data.rows
    return tuple(on_engine(each, MemoryRows(matrix, engine.y, engine.weight)) for each in data.rows)


def _anywhere(model: TrainedModel) -> Region:
    """Return the region of all weights."""
    w = model.solution.w
    return Region("box", np.nan_to_num(w), np.full(len(w), np.inf), 0.0)


def _widened(matrix: IntervalMatrix, table: Array) -> IntervalMatrix:
    """Return the intervals of a table, wider where a filled-in value is not inside; the same object if all are."""
    in_row, columns, centers, radii = matrix.cells(slice(0, matrix.shape[0]))
    distance = np.abs(table[in_row, columns] - centers)
    wider = np.where(distance > 0.0, np.maximum(radii, up(distance)), radii)
    return matrix if np.array_equal(wider, radii) else replace(matrix, radii=wider)
