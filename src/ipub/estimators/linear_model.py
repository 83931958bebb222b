"""The base of both estimators: `fit` from parameters to certificate, and bounds of rows."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ipub.certificates import CERTIFICATES
from ipub.errors import IpubError, warn_user
from ipub.estimators.fitted_state import (
    TRAINING,
    CertifiedResult,
    certify_now,
    keep_training,
    loss_of,
    stored_state,
    training_of,
)
from ipub.estimators.outputs import FrameOutput
from ipub.estimators.questions import Questions
from ipub.losses import Task, loss_names, loss_parameters
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.promises import Budget, Draws
from ipub.rows.device import is_foreign
from ipub.rows.long_table import LongTable
from ipub.tables.conditional_intervals import ConditionalIntervals, IntervalReport
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.levels import UnknownLevels
from ipub.tables.sparse_columns import is_sparse
from ipub.training import Training, fit_training
from ipub.training.alpha_choice import KEPT_ALPHA, RULES, AlphaChoice
from ipub.training.reading import LearntTable, Parameters
from ipub.training.reading.intervals import FORMER_PARAMETERS, Intervals
from ipub.training.reading.on_device import filled_rows, uncertain_rows
from ipub.training.reading.sources import is_dask, is_kept, long_table_of, of_each_piece, whole_to_predict
from ipub.training.reading.sparse import filled_sparse_rows, uncertain_sparse_rows

CONSTRAINTS: dict[str, list[Any]] = {
    "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions(set(RULES))],
    "l1_ratio": [Interval(Real, 0, 1, closed="left")],
    "fit_intercept": ["boolean"],
    "certificate": [StrOptions(set(CERTIFICATES)), None],
    "effort": [Interval(Real, 0, None, closed="left")],
    "intervals": [str, Mapping, "array-like", Intervals],
    "interval_level": [Interval(Real, 0, 1, closed="right"), None],
    "scale": [StrOptions({"standard", "minmax"}), None],
    "uncertainty": [StrOptions({"worst"}), Budget, Draws],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
"""What the parameters may be, in the terms of scikit-learn's validation."""

F = TypeVar("F", bound=Callable[..., None])


def takes_former_parameters(init: F) -> F:
    """Let `__init__` of an estimator store former parameters too; they are no part of its signature."""

    @wraps(init)
    def wrapped(self: Any, *args: Any, **parameters: Any) -> None:
        former = {name: parameters.pop(name) for name in FORMER_PARAMETERS if name in parameters}
        init(self, *args, **parameters)
        vars(self).update(former)

    return cast(F, wrapped)


def loss_constraints(task: Task) -> dict[str, list[Any]]:
    """Return the parameter constraints of an estimator that follow from what the losses of its task declare."""
    positive = [Interval(Real, 0, None, closed="neither")]
    return {"loss": [StrOptions(set(loss_names(task)))], **dict.fromkeys(loss_parameters(task), positive)}


class BoundedLinearModel(Questions, FrameOutput):
    """Base of the estimators: training at the center and the certificate, for any loss."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_lower": True, "X_upper": True}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    loss: str
    alpha: float | str
    intervals: Any
    uncertainty: Any
    verbose: int
    interval_level: float | None = None
    precision: Any = None
    handle_unknown: str | None = None

    alpha_: float
    alpha_choice_: AlphaChoice | None
    certificate_ = CertifiedResult()
    coef_bounds_ = CertifiedResult()
    intercept_bounds_ = CertifiedResult()
    conditional_intervals_: ConditionalIntervals | None
    coef_: Array
    intercept_: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; if `deep`, those of `Intervals` too, as ``intervals__level``."""
        given = {name: getattr(self, name) for name in FORMER_PARAMETERS if getattr(self, name) is not None}
        return {**super().get_params(deep), **given}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``intervals__level`` and its like are those of `Intervals`, made if there is none."""
        start = "intervals__"
        inside = {name.removeprefix(start): params.pop(name) for name in list(params) if name.startswith(start)}
        former = {name: params.pop(name) for name in FORMER_PARAMETERS if name in params}
        super().set_params(**params)
        self.__dict__.update(former)
        if inside:
            self.intervals = _given_intervals(self).with_params(**inside)
        return self

    def _fit(self, X: Any, y: Any, *arguments: Any) -> Self:
        """Read, train and certify; the estimator changes only at the end, and not at all if anything fails."""
        keep_training(self, fit_training(parameters_of(self), X, y, *arguments))
        return self

    @property
    def training_(self) -> Training:
        """What was read, trained and certified, as one `ipub.training.Training`.

        It holds the training rows as long as the estimator is the one that was fitted. One that was loaded from a file,
        unpickled or copied has no training rows: ``training_.models`` is empty.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted, or if a parameter has been changed since.
        """
        return training_of(self)

    @property
    def interval_report_(self) -> IntervalReport | None:
        """How ``intervals="conditional"`` did on held-out cells, column by column; None with other intervals.

        ``print(estimator.interval_report_)`` shows a table. See `ipub.tables.conditional_intervals.IntervalReport`.
        """
        check_is_fitted(self, "conditional_intervals_")
        found = self.conditional_intervals_
        return None if found is None else found.report

    @property
    def alpha_path_(self) -> Any:
        """The values of alpha that cross-validation compared, as a DataFrame; None if alpha is a number.

        From strong to weak: ``alpha``, the mean held-out ``loss`` and its standard error ``loss_error``, ``accuracy``
        (``r2`` in a regression), and ``calibration_slope``, the slope of the labels' regression on the held-out scores:
        below 1 these are too extreme, above 1 too timid; NaN of losses without probabilities.
        """
        check_is_fitted(self, "alpha_choice_")
        return None if self.alpha_choice_ is None else self.alpha_choice_.frame()

    def _scores(self, training: Training, X: Any) -> Array:
        """Return the scores of rows under each model trained at the center, shape (m, K)."""
        with unknown_levels(self) as unknown:

            def scores(frame: Any) -> Array:
                rows = self._filled_rows(training.table, frame, unknown)
                result: Array = rows @ training.coef.T + training.intercept
                return result

            table = None if type(X) is np.ndarray else long_table_of(X)
            if table is None:
                return scores(X)
            return np.concatenate(list(of_each_piece(scores, table, training.table.columns)))

    def _filled_rows(self, table: LearntTable, X: Any, unknown: UnknownLevels | None) -> Array:
        """Read rows to predict that are in one place, in memory or on a device."""
        if type(X) is not np.ndarray and table.is_plain:
            if is_foreign(X):
                return filled_rows(table, X)  # type: ignore[return-value]
            if is_sparse(X):
                return filled_sparse_rows(table, X)  # type: ignore[return-value]
        return table.filled_rows(X, unknown)

    def _score_bounds(self, training: Training, X: Any) -> Array:
        """Bound the scores of rows, which may have holes of their own."""
        if type(X) is not np.ndarray:
            if is_foreign(X) and training.certificates and training.bounds_on_device:
                return training.score_bounds(uncertain_rows(training.table, X))
            table = long_table_of(X)
            if table is not None and not is_kept(table):
                return self._bounds_of_pieces(training, table)
        return training.score_bounds(self._uncertain_rows(training, X), effort=self.effort, verbose=self.verbose)

    def _bounds_of_pieces(self, training: Training, table: LongTable) -> Array:
        """Bound the scores of the rows of a long table, piece by piece."""

        def bounds(frame: Any) -> Array:
            rows = training.table.uncertain_rows(frame, unknown)
            return training.score_bounds(rows, effort=self.effort, n_in_all=table.n_rows)

        parts = []
        with unknown_levels(self) as unknown, progress("Bounding rows", table.n_rows, bool(self.verbose)) as report:
            for part in of_each_piece(bounds, table, training.table.columns):
                parts.append(part)
                report(sum(map(len, parts)))
        return np.concatenate(parts)

    def _uncertain_rows(self, training: Training, X: Any) -> IntervalMatrix:
        """Read rows to bound; those of a file into memory."""
        if type(X) is not np.ndarray:
            if is_sparse(X) and training.bounds_sparse_rows:
                return uncertain_sparse_rows(training.table, X)  # type: ignore[return-value]
            if is_dask(X):
                raise IpubError(
                    "This needs the rows in memory, and X is a Dask collection: choose some rows, and give X.compute()."
                )
            table = long_table_of(X)
            X = X if table is None else whole_to_predict(table, training.table.columns)
        with unknown_levels(self) as unknown:
            return training.table.uncertain_rows(X, unknown)

    def attained_bounds(self, X: Any, *, return_completions: bool = False) -> Any:
        """Return (m, 2): a low and a high score that models trained on fillings of the training table really have.

        The certified bounds say where the score cannot be; these say where it can. Each end is the score of a model
        that was trained on one filling, found by a search. So the exact range of the score contains these bounds and
        lies within the certified ones, and where the two are close, both are nearly exact. Holes of a row in X are
        filled as well, with the ends of their intervals that give its lowest and its highest score.

        The search first puts holes at the ends of their intervals, then moves them inside along the gradient of the
        score. For each row and end it retrains up to 20 times for the first and up to 75 times for the second (up to 6
        times in tables of more than some million cells). With at most 12 holes in a small table, every filling with
        each hole at an end of its interval is tried. If `verbose` is positive, progress is shown, and how many ends the
        search inside intervals improved.

        It needs the training table, and uses the one given to `fit`. One of more than four million numbers, or given to
        `certify`, must not be changed, since no copy is kept. A model that was copied, unpickled or loaded from a file
        has none.

        Parameters
        ----------
        X : array, DataFrame or IntervalMatrix of shape (m, n_features)
        return_completions : bool, default=False
            Whether to return the fillings too.

        Returns
        -------
        bounds : array of shape (m, 2), or (m, n_classes, 2) with more than two classes
        completions : list of m pairs
            Only if asked for: the fillings of the training table that give the lower and the upper end of each row;
            with more than two classes, lists of such pairs, one for each class. ``table()`` of one is the filled
            training table (scaled, if there is a `scaling_`). ``positions`` says where each hole is in its interval,
            row by row: from -1 at the lower end to 1 at the upper end (holes whose interval is a point are left out);
            then follows the number of the level for each missing category. Where labels are uncertain,
            ``targets()`` and ``weights()`` are those of the filling; a row of unknown class is in the table twice, and
            one of the two has the weight 0.

        Examples
        --------
        >>> import numpy as np
        >>> from ipub import BoundedRegressor
        >>> X, y = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 1.5], [3.0, 0.5]]), [1.0, 2.0, 3.0, 4.0]
        >>> reg = BoundedRegressor(alpha=1.0, intervals={1: (0.5, 1.5)}).fit(X, y)
        >>> bounds, completions = reg.attained_bounds([[1.5, 1.0]], return_completions=True)
        >>> lowest, highest = completions[0]
        >>> highest.table()[1]
        array([1. , 1.5])
        >>> again = BoundedRegressor(alpha=1.0).fit(highest.table(), y)
        >>> bool(np.isclose(again.predict([[1.5, 1.0]])[0], bounds[0, 1]))
        True
        """
        from ipub.answers.attained import search_fillings

        training = self.training_
        rows = self._uncertain_rows(training, X)
        found = search_fillings(training, rows, keep_completions=return_completions, verbose=self.verbose)
        if self.verbose:
            count, total = int(found.inside.sum()), found.inside.size
            print(f"Values inside intervals improved {count} of {total} ends.")
        output = self._output(found.bounds, X)
        return (output, found.completions) if return_completions else output

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002 (as in scikit-learn)
        """Return the names of the columns that the weights in `coef_` and `coef_bounds_` belong to.

        A column of categories has one for each level, ``column_level``.
        """
        table = self.training_.table
        return np.array(table.names or [f"x{j}" for j in range(len(table.fill_values))], dtype=object)

    def save(self, path: str | os.PathLike[str], *, rows: bool = True) -> None:
        """Write the fitted model to a file, which `ipub.load` reads; see `ipub.save`.

        Parameters
        ----------
        path : path
            By habit it ends in ``.ipub``.
        rows : bool, default=True
            Whether the file may hold training rows, which the bounds of a loaded model need to be those of this one.
        """
        import ipub

        ipub.save(self, path, rows=rows)

    def _html_repr(self) -> str:
        """Return the diagram of scikit-learn for a notebook, and below it what was learnt and what is promised."""
        from ipub.estimators.notebook_view import fitted_view

        return str(super()._html_repr()) + fitted_view(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training table out of pickles; certificates, and the training rows in them, stay as they are."""
        return stored_state(self, {**super().__getstate__(), **certify_now(self)})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy with the same bounds; the training table, which is not copied, is not part of it."""
        other = type(self).__new__(type(self))
        state = {name: value for name, value in certify_now(self).items() if name != TRAINING}
        other.__dict__ = copy.deepcopy(state, memo)
        return other

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def parameters_of(estimator: BoundedLinearModel) -> Parameters:
    """Return the parameters of an estimator, as reading and training take them."""
    given, cells = estimator.get_params(deep=False), _intervals_of(estimator)
    given |= {
        "intervals": cells.kind,
        "interval_level": cells.level,
        "precision": cells.precision,
        "handle_unknown": cells.handle_unknown,
    }
    if isinstance(estimator.alpha, str):
        given |= {"alpha": KEPT_ALPHA, "alpha_rule": estimator.alpha}
    names = {field.name for field in fields(Parameters)} - {"kind", "loss"}
    return Parameters(type(estimator), loss_of(estimator), **{name: given[name] for name in names & given.keys()})


@contextmanager
def unknown_levels(estimator: BoundedLinearModel) -> Iterator[UnknownLevels | None]:
    """Count the unknown categories of the rows of a call, and warn of them in the end; None if they are an error."""
    takes_any = (estimator.handle_unknown or _given_intervals(estimator).handle_unknown) == "any"
    unknown = UnknownLevels() if takes_any else None
    yield unknown
    if unknown is not None:
        unknown.warn()


def _given_intervals(estimator: BoundedLinearModel) -> Intervals:
    """Return `intervals` as an object."""
    given = estimator.intervals
    return given if isinstance(given, Intervals) else Intervals(given)


def _intervals_of(estimator: BoundedLinearModel) -> Intervals:
    """Return how an estimator reads cells, checked; warn of former parameters."""
    cells = _given_intervals(estimator)
    for name, new in FORMER_PARAMETERS.items():
        value = getattr(estimator, name)
        if value is not None:
            cells = cells.with_params(**{new: value})
            warn_user(f"{name}={value!r} is part of intervals now: use intervals=Intervals({new}=...).", FutureWarning)
    cells.check()
    return cells


def check_parameters(estimator: BoundedLinearModel) -> None:
    """Raise an error if a parameter has a value that it cannot have, as `fit` does."""
    estimator._validate_params()
