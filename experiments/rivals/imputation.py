"""Common methods for holes: fill them once, fill them several times at random, or drop their rows.

None of these has a guarantee. They are trained here on the same objective as our bounds, by the same solver, so that
their predictions can be compared with certified and attained ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (required by scikit-learn)
from sklearn.impute import IterativeImputer, SimpleImputer

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.problem.objective import Problem
from ipub.problem.solvers import solve
from ipub.rows import MemoryRows, Rows, with_intercept_column, without_intercept_column
from ipub.rows.completions import whole_table
from ipub.tables.interval_matrix import IntervalMatrix, completed_cells

IMPUTER_ROUNDS = 10
"""How often the iterative imputer goes over the columns, as in scikit-learn."""


@dataclass(frozen=True)
class Imputation:
    """The scores of test rows under models trained on filled tables.

    Attributes
    ----------
    scores : array of shape (n_draws, m)
        A row for each filled table.
    models : array of shape (n_draws, n_features)
        Their weights; an intercept comes last.
    note : str
        Remarks on the tables, if any.
    """

    scores: Array
    models: Array
    note: str = ""

    def range(self) -> Array:
        """Return (m, 2): the lowest and the highest score of each test row."""
        return np.column_stack([self.scores.min(axis=0), self.scores.max(axis=0)])

    def mean(self) -> Array:
        """Return the pooled score of each test row, the mean of its draws."""
        return np.asarray(self.scores.mean(axis=0))

    def spread(self) -> Array:
        """Return the pooled standard deviation of each score by Rubin's rules, as far as it is due to the holes.

        That is ``sqrt((1 + 1/T) B)`` with B the variance between T draws. Rubin's variance within a draw is that of
        drawing other training rows, which the range over completions does not cover. NaN for a single draw.
        """
        n_draws = len(self.scores)
        if n_draws < 2:
            return np.full(self.scores.shape[1], np.nan)
        return np.asarray(np.sqrt((1.0 + 1.0 / n_draws) * self.scores.var(axis=0, ddof=1)))


class Coverage(NamedTuple):
    """How a reported range compares with what completions attain."""

    share: Array
    """The fraction of the attained range that the reported one covers, for each test row."""
    exceeded: NDArray[np.bool_]
    """Whether a completion's model gives a score outside the reported range."""


def share_covered(reported: Array, attained: Array) -> Coverage:
    """Compare reported ranges with the scores that completions attain, both of shape (m, 2).

    Examples
    --------
    >>> import numpy as np
    >>> share_covered(np.array([[0.0, 1.0], [0.0, 9.0]]), np.array([[-1.0, 3.0], [2.0, 2.0]]))
    Coverage(share=array([0.25, 1.  ]), exceeded=array([ True, False]))
    """
    reported, attained = np.asarray(reported, dtype=float), np.asarray(attained, dtype=float)
    exceeded = (attained[:, 0] < reported[:, 0]) | (attained[:, 1] > reported[:, 1])
    length = attained[:, 1] - attained[:, 0]
    common = np.minimum(attained[:, 1], reported[:, 1]) - np.maximum(attained[:, 0], reported[:, 0])
    whole = np.where(exceeded, 0.0, 1.0)
    return Coverage(np.divide(np.maximum(common, 0.0), length, out=whole, where=length > 0.0), exceeded)


def multiple_imputation(
    problem: Problem,
    X: Array,
    n_draws: int = 20,
    *,
    clip: bool = False,
    fit_rows: int | None = None,
    random_state: int | None = None,
) -> Imputation:
    """Fill the holes several times at random, train on each table and predict.

    A draw is made by scikit-learn's `IterativeImputer` with ``sample_posterior=True``: each column is regressed on the
    others (Bayesian ridge) and its holes are drawn from the predictive distribution, in ten rounds.

    Parameters
    ----------
    problem : Problem
        Its uncertain cells are the holes; their intervals are used only if `clip` is true.
    X : array of shape (m, n_features)
        Test rows (with an intercept, the last column is ones).
    n_draws : int
    clip : bool
        Whether to cut what is drawn to the interval of its cell. By default it is not, as practitioners have no
        intervals: a draw may then lie outside, and the scores outside every bound for completions inside.
    fit_rows : int, optional
        Fit the imputer on that many rows, drawn at random for each table, and then fill the rows with holes with it.
        All rows if left out, which for a million rows takes long.
    random_state : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> from ipub import IntervalMatrix
    >>> from ipub.losses import LOSSES
    >>> from ipub.losses.penalties import ElasticNet
    >>> table = np.array([[0.0, 0.1], [1.0, np.nan], [2.0, 1.9], [3.0, 3.2]])
    >>> rows = MemoryRows(IntervalMatrix.from_table(table, [[0.0, 4.0], [0.0, 4.0]]), np.array([0.0, 1.0, 2.0, 3.0]))
    >>> problem = Problem(rows, LOSSES["squared_error"], ElasticNet(0.1))
    >>> drawn = multiple_imputation(problem, np.ones((1, 2)), n_draws=5, random_state=0)
    >>> drawn.scores.shape
    (5, 1)
    >>> drawn.range().shape
    (1, 2)
    """
    holed = _Holed.of(problem)
    rng = np.random.default_rng(random_state)

    def draw() -> Array:
        seed = int(rng.integers(2**31))
        imputer = IterativeImputer(
            sample_posterior=True, max_iter=IMPUTER_ROUNDS, random_state=seed, keep_empty_features=True
        )
        if fit_rows is None or fit_rows >= len(holed.table):
            return np.asarray(imputer.fit_transform(holed.table))
        sample = holed.table[rng.choice(len(holed.table), fit_rows, replace=False)]
        _check_no_empty_columns(sample, f" among the {fit_rows} rows to fit on: make fit_rows larger")
        # Rows without holes stay as they are.
        filled, incomplete = holed.table.copy(), np.unique(holed.holes[0])
        filled[incomplete] = imputer.fit(sample).transform(holed.table[incomplete])
        return filled

    return _trained(problem, X, (holed.filled(draw(), clip) for _ in range(n_draws)))


def single_imputation(
    problem: Problem, X: Array, strategy: Literal["mean", "median"] = "mean", *, clip: bool = False
) -> Imputation:
    """Fill every hole with the mean or the median of its column, train and predict.

    Parameters
    ----------
    problem : Problem
        Its uncertain cells are the holes.
    X : array of shape (m, n_features)
        Test rows (with an intercept, the last column is ones).
    strategy : "mean" or "median"
    clip : bool
        Whether to cut the value to the interval of its cell.
    """
    holed = _Holed.of(problem)
    filled = SimpleImputer(strategy=strategy, keep_empty_features=True).fit_transform(holed.table)
    return _trained(problem, X, [holed.filled(np.asarray(filled), clip)])


def complete_cases(problem: Problem, X: Array) -> Imputation:
    """Train on the rows without a hole alone, and predict.

    Parameters
    ----------
    problem : Problem
        Its uncertain cells are the holes.
    X : array of shape (m, n_features)
        Test rows (with an intercept, the last column is ones).
    """
    holed = _Holed.of(problem, allow_empty_columns=True)
    labels = problem.rows.labels()
    kept = np.flatnonzero(~np.isnan(holed.table).any(axis=1) & (labels.weight > 0.0))
    note = f"{len(kept)} of {len(holed.table)} rows have no hole."
    if len(kept) == 0:
        raise IpubError("No row with weight is without a hole: there are no complete cases to train on.")
    y = labels.y[kept]
    if problem.loss.task == "classification" and (y == y[0]).all():
        if problem.penalty.n_free:
            raise IpubError(f"{note} They are all of class {y[0]:g}, and then no intercept is best.")
        note += f" They are all of class {y[0]:g}."
    return _trained(problem, X, [holed.table[kept]], kept, note)


@dataclass(frozen=True)
class _Holed:
    """The table of a problem, NaN at its uncertain cells, with the ends of their intervals."""

    table: Array
    holes: tuple[NDArray[np.intp], NDArray[np.intp]]
    lower: Array
    upper: Array

    @classmethod
    def of(cls, problem: Problem, *, allow_empty_columns: bool = False) -> _Holed:
        rows = without_intercept_column(problem.rows)
        if rows.uncertain_labels:
            raise IpubError("Imputation here needs certain labels.")
        if rows.categories:
            raise IpubError("Imputation here is of numbers, and categories are missing in this table.")
        whole = whole_table(rows)
        table, radii = whole.center, whole.cell_radii
        holes = np.repeat(np.arange(len(table)), whole.cell_counts), whole.cell_columns
        centers = table[holes]
        table[holes] = np.nan
        if not allow_empty_columns:
            _check_no_empty_columns(table, ", so nothing says how to fill it: drop it")
        return cls(table, holes, completed_cells(centers, radii, -1.0), completed_cells(centers, radii, 1.0))

    def filled(self, table: Array, clip: bool) -> Array:
        """Return a filled table, cut to the intervals if `clip`."""
        if clip:
            table[self.holes] = np.clip(table[self.holes], self.lower, self.upper)
        return table


def _check_no_empty_columns(table: Array, where: str) -> None:
    empty = np.flatnonzero(np.isnan(table).all(axis=0))
    if len(empty):
        raise IpubError("Column {column} has no observed value{where}.", column=int(empty[0]), where=where)


def _trained(
    problem: Problem, X: Array, tables: Iterable[Array], kept: NDArray[np.intp] | None = None, note: str = ""
) -> Imputation:
    """Train on each table, from the model of the one before, and predict."""
    models: list[Array] = []
    chosen = slice(None) if kept is None else kept
    y, weight = (part[chosen] for part in problem.rows.labels())
    for table in tables:
        rows: Rows = MemoryRows(IntervalMatrix.from_bounds(table, table), y, weight)
        rows = with_intercept_column(rows) if problem.penalty.n_free else rows
        start = models[-1] if models else None
        models.append(solve(Problem(rows, problem.loss, problem.penalty), start=start).w)
    return Imputation(np.array([np.asarray(X, dtype=float) @ w for w in models]), np.array(models), note)
