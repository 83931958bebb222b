"""The strength of the penalty that cross-validation picks: where a user who has no other wish should start."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from ipub.errors import IpubError
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.estimators.linear_model import check_parameters, parameters_of
from ipub.losses import Loss
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.rows import Block, MemoryRows, Reads, Rows, engine_of, on_engine, reads
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.training import problem_of, train
from ipub.training.reading import Parameters
from ipub.training.reading.sources import read_source

ALPHAS = (3.2, 1.0, 0.32, 0.1, 0.032, 0.01, 0.0032, 0.001, 0.00032, 0.0001)
"""The values that are compared, from strong to weak, so that training starts from the model of the next stronger one.
With ``scale="standard"`` they span what is useful; two digits, so that what is shown is what was used."""

N_FOLDS = 4

FEWEST_ROWS = 2 * N_FOLDS
"""With fewer rows a fold would hold one row: the default alpha is kept."""

MOST_ROWS, MOST_WORK = 20_000, 4e7
"""Rows that are compared on, at most, and rows times squared columns (or rows, if these are fewer): beyond either, a
sample of the rows is used. The 40 trainings then take one or two seconds."""

TIE = 1e-3
"""Of values whose held-out losses differ by less than this part, the strongest penalty is taken."""

TOLERANCE = 1e-4
"""Relative duality gap of the trainings: held-out losses differ by more than that."""


@dataclass(frozen=True, eq=False)
class AlphaChoice:
    """The alpha that `pick_alpha` picked, and why."""

    alpha: float
    alphas: Array
    """Those that were compared, from strong to weak."""
    losses: Array
    """Mean held-out loss of each; empty if the default alpha was kept."""
    stronger: float
    """The greatest alpha whose mean loss is within one standard error, over the folds, of the lowest: bounds are
    narrower there, and the model hardly worse. The same as alpha if there is none."""
    reason: str
    """How alpha was picked, or why the default was kept: ends a sentence that begins with alpha."""


def pick_alpha(estimator: BoundedClassifier | BoundedRegressor, X: Any, y: Any, **fit_arguments: Any) -> AlphaChoice:
    """Pick the strength of the penalty by 4-fold cross-validation on the table filled in.

    The table is read as `fit` reads it, with every missing value at the middle of its interval and the columns scaled
    as the estimator says. For each of ten values of alpha, from 3.2 to 0.0001, models are trained on three quarters of
    the rows, and the mean loss on the others is computed: that of the estimator itself, so the log loss for
    ``loss="log_loss"`` and the squared error for ``loss="squared_error"``; with more than two classes, summed over the
    classes, each against the others. The lowest mean wins, and among losses that differ by less than a thousandth the
    strongest penalty. Nothing is certified. Folds hold all classes in equal parts, and are the same at every call. Of a
    long table a sample of the rows is used, which may pick a slightly stronger penalty. With more columns than rows the
    penalty is taken to be L2.

    Bounds at this alpha may be wide: `penalty_path` shows what a stronger penalty gains and costs.

    Parameters
    ----------
    estimator : BoundedClassifier or BoundedRegressor
        Gives all parameters but alpha. It is not changed. Progress is shown if its `verbose` is positive.
    X, y
        The training table with its holes, and its labels or targets, as for `fit`.
    **fit_arguments
        Further arguments of `fit`: ``sample_weight``, ``X_lower`` and ``X_upper``.

    Returns
    -------
    AlphaChoice
        With fewer than 8 rows, or if no fold has two classes, its alpha is that of the estimator, and it says why.

    Examples
    --------
    >>> from ipub import BoundedClassifier
    >>> from ipub.estimators.alpha_choice import pick_alpha
    >>> from ipub.datasets import load_mammographic_masses
    >>> X, y = load_mammographic_masses()
    >>> choice = pick_alpha(BoundedClassifier(scale="standard"), X, y)
    >>> choice.alpha, choice.reason
    (0.01, 'picked by 4-fold cross-validation (log loss)')
    """
    template = clone(estimator)
    inspect.signature(template.fit).bind(X, y, **fit_arguments)
    check_parameters(template)
    parameters = replace(
        parameters_of(template), verbose=0, tol=TOLERANCE, certificate=None, uncertainty="worst", max_label_errors=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `fit` reads the same table, and says it once
        models, n_all = _rows_to_compare(parameters, X, y, fit_arguments)
        engine = engine_of(models[0])
        assert isinstance(engine, MemoryRows)
        if engine.n_features > engine.n_rows:
            engine, parameters = _rotated(engine), replace(parameters, l1_ratio=0.0)
            models = tuple(on_engine(rows, engine) for rows in models)
        by_fold, weights = _held_out_losses(parameters, models, engine, bool(template.verbose))
    alphas = np.array(ALPHAS)
    if len(by_fold) == 0:
        few = f"{engine.n_rows} rows are too few" if engine.n_rows < FEWEST_ROWS else "a class has too few rows"
        kept = float(template.alpha)
        return AlphaChoice(kept, alphas, np.empty(0), kept, f"the default, since {few} for cross-validation")
    sample = "" if engine.n_rows == n_all else f" on a sample of {engine.n_rows} of {n_all} rows"
    reason = f"picked by {N_FOLDS}-fold cross-validation ({template.loss.replace('_', ' ')}){sample}"
    losses = np.average(by_fold, axis=0, weights=weights)
    best = int(np.argmin(losses))
    error = np.std(by_fold[:, best], ddof=1) / np.sqrt(len(by_fold)) if len(by_fold) > 1 else 0.0
    picked, stronger = (
        float(alphas[np.argmax(losses <= losses[best] + allowed)]) for allowed in (TIE * abs(losses[best]), error)
    )
    return AlphaChoice(picked, alphas, losses, max(picked, stronger), reason)


def _rows_to_compare(
    parameters: Parameters, X: Any, y: Any, fit_arguments: dict[str, Any]
) -> tuple[tuple[Rows, ...], int]:
    """Return the rows of each model, all that count or a sample of them, in memory; and how many there are in all."""
    data, _ = read_source(parameters, X, y, **fit_arguments)
    whole = engine_of(data.rows[0])
    if data.rows[0].uncertain_labels:
        raise IpubError("Cross-validation needs labels that are certain: leave the rows of unknown labels out.")
    n, d = whole.n_rows, whole.n_features
    n_most = int(min(MOST_ROWS, max(MOST_WORK / d**2, min(MOST_WORK ** (1 / 3), d), FEWEST_ROWS)))
    if n > n_most or not isinstance(whole, MemoryRows):
        sampled = tuple(rows.sample(min(n, n_most)) for rows in data.rows)
        return tuple(rows for rows in sampled if rows is not None), n
    if (whole.weight > 0.0).all():
        return data.rows, n
    counted = np.flatnonzero(whole.weight > 0.0)
    return tuple(on_engine(rows, _part(whole, counted)) for rows in data.rows), len(counted)


def _rotated(engine: MemoryRows) -> MemoryRows:
    """Return rows with as many columns as rows and the same inner products: scores and L2 norms stay what they are."""
    table = engine.matrix.center_rows(slice(0, engine.n_rows))
    values, vectors = np.linalg.eigh(table @ table.T)
    rotated = vectors * np.sqrt(np.maximum(values, 0.0))
    return MemoryRows(IntervalMatrix.from_bounds(rotated, rotated), engine.y, engine.weight)


def _held_out_losses(
    parameters: Parameters, models: tuple[Rows, ...], engine: MemoryRows, shown: bool
) -> tuple[Array, Array]:
    """Return the mean held-out loss for each fold and alpha, and the weight of each fold; none without two classes."""
    losses, weights = [], []
    folds = list(_folds(engine, parameters.loss.task == "classification"))
    with progress("Cross-validation", len(folds) * len(models), shown) as report:
        for done, (kept, held_out) in enumerate(folds):
            engines, found = (_part(engine, kept), _part(engine, held_out)), []
            for k, rows in enumerate(models):
                inside, outside = (on_engine(rows, part) for part in engines)
                if parameters.loss.task == "regression" or min(inside.reduce(_signs)) > 0.0:
                    found.append(_path(parameters, inside, outside))
                report(done * len(models) + k + 1)
            if found:
                losses.append(np.sum(found, axis=0))
                weights.append(engine.weight[held_out].sum())
    return np.array(losses), np.array(weights)


def _path(parameters: Parameters, inside: Rows, outside: Rows) -> Array:
    """Return the mean loss of the rows outside for each alpha, after training on those inside."""
    losses, start = [], None
    for alpha in ALPHAS:
        here = replace(parameters, alpha=alpha)
        (model,) = train(here, [inside], [start])
        start = model.solution.w
        held_out = problem_of(here, outside).rows
        losses.append(held_out.reduce(_loss_sum, parameters.loss, start)[0] / held_out.total_weight)
    return np.array(losses)


def _folds(engine: MemoryRows, is_classified: bool) -> Iterator[tuple[Indices, Indices]]:
    """Yield the rows to train on and those held out: classes in equal parts, if there are enough rows of each."""
    if engine.n_rows < FEWEST_ROWS:
        return
    split = KFold(N_FOLDS, shuffle=True, random_state=0)
    if is_classified and np.unique(engine.y, return_counts=True)[1].max() >= N_FOLDS:
        split = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    yield from split.split(np.zeros((engine.n_rows, 1)), engine.y)


def _part(engine: MemoryRows, rows: Indices) -> MemoryRows:
    return MemoryRows(engine.matrix.take(rows), engine.y[rows], engine.weight[rows])


@reads(Reads.LABELS)
def _signs(block: Block) -> tuple[int, int]:
    """Count the rows of each of two classes."""
    positive = int(np.count_nonzero(block.y > 0.0))
    return positive, len(block.y) - positive


def _loss_sum(block: Block, loss: Loss, w: Array) -> tuple[float]:
    return (float(block.weight @ loss.value(block.y, block.center @ w)),)
