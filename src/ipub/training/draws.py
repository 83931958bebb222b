"""Training and certificates on draws of an imputer: certified multiple imputation (thm-draws)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from ipub.certificates import (
    CERTIFICATES,
    NO_HINT,
    AnotherDraw,
    Certificate,
    DrawBounds,
    Hint,
    OneMatrixBounds,
    Outcome,
    Recipe,
    TrainedModel,
    certify_where_little_differs,
)
from ipub.certificates.row_sums.bounds import RowSumBounds, bounds_around_filling, with_box
from ipub.errors import IpubError, IpubWarning, warn_user
from ipub.numeric.parallel import single_threaded_blas
from ipub.numeric.rounding import Array, check_arithmetic
from ipub.progress_bars import progress
from ipub.promises import Draws
from ipub.rows import MemoryRows, Rows, engine_of, on_engine
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows
from ipub.training.imputing.drawn_tables import DrawnTables, check_not_deterministic
from ipub.training.imputing.holes import holes_of
from ipub.training.imputing.samplers import Sampler, sampler_of
from ipub.training.models import train
from ipub.training.movable import movable_holes, refuse_other_uncertainty
from ipub.training.reading import Parameters, TrainingData
from ipub.training.reading.parameters import SEEDS
from ipub.training.training import Training

PROBED = 50
"""So many training rows show which parts of the certificate of the first draw are worth making for the others: time
against wrong decisions."""

MANY_KEPT, MOST_KEPT = 1 << 23, 1 << 27
"""Numbers that the certificates of all draws may keep of the training rows (64 MiB, 1 GiB). Beyond the first, cells are
bounded column by column if that is nearly as narrow; beyond the second, they always are."""

NOT_PROVED = "No bounds around a draw could be proved: {why}. Those of any filling are used for it, which are wider."
"""The note where few cells may be anywhere, and bounds are those of all."""

NO_RADIUS = (
    "radius=0 promises nothing unless the missing values have exactly the law of the imputer {imputer}, given "
    "everything observed, the labels included. Few imputers look at the labels: take a radius, 0.1 by default."
)
"""The warning where draws have no neighbourhood."""

NEARLY_AS_NARROW = 1.2
"""Bounds by columns may be so many times as wide over the rows that are probed: width against memory."""


def train_and_certify_draws(
    parameters: Parameters,
    data: TrainingData,
    draws: Draws,
    X: Any,
    X_lower: ArrayLike | None = None,
    X_upper: ArrayLike | None = None,
) -> Training:
    """Train and certify on every draw of an imputer, which fills X, the table that was read.

    The certificates are the ranges over all draws, none if the parameters ask for none; the weights are the means over
    the draws. The models are those of the middle of every interval.
    """
    draws.check()
    if draws.radius == 0.0 and not draws.cells:
        warn_user(NO_RADIUS.format(imputer=draws.name), IpubWarning)
    check_arithmetic()
    engine = engine_of(data.rows[0])
    if not isinstance(engine, MemoryRows):
        raise IpubError("Draws fill the table in memory, and X is a memory-mapped file: load it with numpy.array(X).")
    holes = holes_of(data, X, X_lower, X_upper)
    sampler = sampler_of(draws, holes)
    seeds = _seeds(draws, parameters.random_state)
    if len(holes):
        check_not_deterministic(sampler, draws.name, [np.random.default_rng(seed) for seed in seeds])
    tables = DrawnTables.of(holes, engine.matrix, _source(engine, len(data.weight)), draws.radius)
    middle = train(parameters, data.rows)
    starts = tuple(model.solution.w for model in middle)
    n_kept = draws.n_draws * int(np.count_nonzero(tables.radii)) * data.rows[0].n_features
    n_of_rows = draws.n_draws * engine.n_rows * data.rows[0].n_features
    task = _Task(parameters, data.rows, engine, sampler, tables, n_kept, n_of_rows, n_kept > MOST_KEPT, starts)
    if draws.cells:
        refuse_other_uncertainty("Draws with cells", parameters, data)
    recipe = task.recipe
    if draws.cells and recipe is not None:
        task = replace(task, cells=int(draws.cells), any_filling=tuple(recipe(*model) for model in middle))
    with single_threaded_blas(middle[0].problem.rows.n_features):
        members = _all_draws(task, seeds, draws, parameters.verbose)
    for model in middle:
        model.problem.rows.clear_cache()
    by_model, name = list(zip(*members, strict=True)), parameters.certificate
    promise = draws.promise_for(
        len(middle),
        is_of_classes=middle[0].problem.loss.task == "classification",
        labels_may_differ=bool(
            parameters.unknown_labels or parameters.max_label_errors or data.rows[0].uncertain_labels
        ),
    )
    certificates = () if name is None else tuple(_certificate(name, each, promise) for each in by_model)
    training = Training.of(parameters, data, middle, certificates)
    weights = np.stack([np.stack([member.w for member in each]).mean(axis=0) for each in by_model])
    d = training.coef.shape[1]
    intercept = weights[:, d] if parameters.fit_intercept else training.intercept
    return replace(training, coef=weights[:, :d], intercept=intercept)


def bounds_around(model: TrainedModel, drawn: MemoryRows, holes: IntervalMatrix, cells: int) -> Outcome[RowSumBounds]:
    """Bound the models of tables in the neighbourhood of a draw but for few cells, which may be anywhere.

    The model was trained on the draw, `drawn`, each cell with its neighbourhood. Beside that, so many `cells` of the
    training table may be anywhere in their intervals, which `holes` has.
    """
    problem, solution = model
    matrix = drawn.matrix
    table = matrix.center_rows(slice(0, matrix.shape[0]))
    rows = on_engine(problem.rows, MemoryRows(IntervalMatrix.from_bounds(table, table), drawn.y, drawn.weight))
    in_row, columns, _, radii = matrix.cells(slice(0, matrix.shape[0]))
    movable = MovableRows.of_numbers(in_row, columns, radii, radii, HOLES)
    moves = BudgetMoves((movable.n_units, cells))
    movable = movable.joined_to(movable_holes(holes, table, WRONG_CELLS))
    return bounds_around_filling(replace(problem, rows=rows), solution, movable, moves)


def _seeds(draws: Draws, otherwise: Any) -> list[np.random.SeedSequence]:
    """Return a seed for each draw: independent of each other, and of how draws are shared out to processes."""
    state = otherwise if draws.random_state is None else draws.random_state
    seed = None if state is None else int(check_random_state(state).randint(SEEDS))
    return np.random.SeedSequence(seed).spawn(draws.n_draws)


def _source(engine: MemoryRows, n_rows: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return for each training row the row of X that it is: those of unknown class are there twice."""
    source = np.arange(engine.n_rows)
    if engine.n_rows > n_rows:
        uncertainty = engine.label_uncertainty
        assert uncertainty is not None
        source[uncertainty.pairs[:, 1]] = uncertainty.pairs[:, 0]
    return source


class _Member(NamedTuple):
    """One model of one draw."""

    model: TrainedModel
    certificate: Certificate | None
    """None if nothing is certified."""

    def without_rows(self) -> _Weights:
        """Return what is kept of it."""
        return _Weights(self.model.solution.w, self.certificate)

    def hint(self) -> Hint:
        """Return its set of moves as a suggestion for another draw, whose problem is nearly the same."""
        found = None if self.certificate is None else AnotherDraw.of(self.certificate, self._probed_rows())
        return NO_HINT if found is None else found

    def one_matrix(self) -> OneMatrixBounds | None:
        """Return where another draw is to begin, if little enough differs around draws for one matrix."""
        return None if self.certificate is None else self.certificate.part(OneMatrixBounds)

    def is_nearly_as_narrow_in_columns(self) -> bool:
        """Whether bounds that take the cells of a column together are nearly as narrow."""
        if self.certificate is None:
            return False
        certificates, rows = (self.certificate, self.certificate.in_columns()), self._probed_rows()
        cells, columns = (np.ptp(certificate.score_bounds(rows), axis=1).sum() for certificate in certificates)
        return bool(columns <= NEARLY_AS_NARROW * cells)

    def _probed_rows(self) -> Array:
        return next(self.model.problem.rows.blocks()).center[:PROBED]

    def hessian(self) -> Array:
        """Return the Hessian of the mean loss."""
        problem, solution = self.model
        return np.asarray(problem.evaluate(solution.w, solution.dual_loss).hessian)


class _Weights(NamedTuple):
    """What is kept of one model of one draw."""

    w: Array
    certificate: Certificate | None


@dataclass(frozen=True, eq=False)
class _Task:
    """What the training of a draw needs, in whichever process."""

    parameters: Parameters
    rows: tuple[Rows, ...]
    engine: MemoryRows
    sampler: Sampler
    tables: DrawnTables
    n_kept: int
    n_of_rows: int
    """Numbers that all draws may keep of uncertain cells, and of rows."""
    is_in_columns: bool
    starts: tuple[Array, ...]
    hessians: tuple[Array, ...] | None = None
    hints: tuple[Hint, ...] | None = None
    one_matrix: tuple[OneMatrixBounds | None, ...] | None = None
    """Of each model of the first draw, with None where one matrix proves nothing; None before that."""
    cells: int = 0
    any_filling: tuple[Certificate, ...] | None = None
    """Of each model, if some cells may be anywhere in their intervals."""

    @property
    def recipe(self) -> Recipe | None:
        """How draws are certified, if they are: retraining for each row of each draw would take too long."""
        if self.parameters.certificate is None:
            return None
        recipe = CERTIFICATES[self.parameters.certificate]
        return CERTIFICATES["tight"] if recipe.retrains else recipe

    def weights(self, seed: np.random.SeedSequence) -> tuple[_Weights, ...]:
        """Draw a filling, train on it and certify; return what is kept of each model."""
        return tuple(member.without_rows() for member in self.members(seed))

    def members(self, seed: np.random.SeedSequence) -> tuple[_Member, ...]:
        """Draw a filling, train on it and certify its neighbourhood; one for each model."""
        engine, filling = self.engine, self.sampler.draw(np.random.default_rng(seed))
        drawn = MemoryRows(self.tables.matrix(filling), engine.y, engine.weight, engine.label_uncertainty)
        rows = [on_engine(each, drawn) for each in self.rows]
        models = train(replace(self.parameters, verbose=0), rows, self.starts, self.hessians)
        return tuple(_Member(model, self._certified(model, drawn, number)) for number, model in enumerate(models))

    def _certified(self, model: TrainedModel, drawn: MemoryRows, number: int) -> Certificate | None:
        """Certify the neighbourhood of a draw, and the few cells that may be anywhere."""
        if self.any_filling is not None:
            any_filling = self.any_filling[number]
            around = bounds_around(model, drawn, self.engine.matrix, self.cells)
            if around.found is None:
                return replace(any_filling, gap=model.solution.gap, note=NOT_PROVED.format(why=around.note))
            return Certificate(any_filling.name, with_box(around.found), model.solution.gap)
        if self.recipe is None:
            return None
        like = None if self.one_matrix is None else self.one_matrix[number]
        if (
            self.recipe.name == "tight"
            and self.n_of_rows <= MOST_KEPT
            and (like is not None or self.one_matrix is None)
        ):
            certificate = certify_where_little_differs(*model, like)
            if certificate is not None:
                return certificate
        hint = NO_HINT if self.hints is None else self.hints[number]
        return self.recipe(*model, hint=hint, in_columns=self.is_in_columns)


def _all_draws(
    task: _Task, seeds: Sequence[np.random.SeedSequence], draws: Draws, verbose: int
) -> list[tuple[_Weights, ...]]:
    """Train and certify every draw; the first one suggests to the others where their models are."""
    with progress("Draws", draws.n_draws, bool(verbose)) as report:
        first = task.members(seeds[0])
        if MANY_KEPT < task.n_kept <= MOST_KEPT and all(member.is_nearly_as_narrow_in_columns() for member in first):
            task = replace(task, is_in_columns=True)
            first = task.members(seeds[0])
        done = [tuple(member.without_rows() for member in first)]
        report(1)
        task = replace(
            task,
            starts=tuple(member.model.solution.w for member in first),
            hessians=tuple(member.hessian() for member in first),
            one_matrix=tuple(member.one_matrix() for member in first),
            hints=tuple(NO_HINT if member.one_matrix() else member.hint() for member in first),
        )
        for weights in _in_processes(task, seeds[1:], draws.n_jobs):
            done.append(weights)
            report(len(done))
    return done


def _in_processes(
    task: _Task, seeds: Sequence[np.random.SeedSequence], n_jobs: int | None
) -> Iterator[tuple[_Weights, ...]]:
    """Yield the results of all draws in order."""
    n_processes = min(effective_n_jobs(n_jobs), len(seeds))
    if n_processes < 2:
        yield from map(task.weights, seeds)
        return
    task.engine.clear_cache()  # not to be sent
    chunks = np.array_split(np.arange(len(seeds)), 4 * n_processes)
    calls = (delayed(_chunk)(task, [seeds[k] for k in chunk]) for chunk in chunks if len(chunk))
    try:
        for done in Parallel(n_jobs=n_processes, return_as="generator")(calls):
            yield from done
    except BrokenExecutor as error:
        raise IpubError(
            f"One of the {n_processes} processes of the draws ended before its work was done, as it does when memory "
            "is short or an imputer crashes: use n_jobs=None, or fewer. Results do not depend on it."
        ) from error


def _chunk(task: _Task, seeds: Iterable[np.random.SeedSequence]) -> list[tuple[_Weights, ...]]:
    with single_threaded_blas(task.rows[0].n_features):
        return [task.weights(seed) for seed in seeds]


def _certificate(name: str, members: tuple[_Weights, ...], promise: str) -> Certificate:
    """Return the range over all draws of one model as a certificate."""
    found = tuple(member.certificate for member in members if member.certificate is not None)
    bounds = DrawBounds(found, np.stack([member.w for member in members]))
    notes = dict.fromkeys(certificate.note for certificate in found if certificate.note)
    if CERTIFICATES[name].retrains:
        notes["Draws are certified by 'tight': retraining for each row of each draw would take too long."] = None
    gap = max(certificate.gap for certificate in found)
    return Certificate(name, (bounds,), gap, " ".join(notes), promise)
