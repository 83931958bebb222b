"""The base of both estimators: `fit` from parameters to certificate, and bounds of rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ipub.certificates import CERTIFICATES, Certificate
from ipub.errors import IpubError
from ipub.estimators.fitted_state import (
    FITTED_WITH,
    MODELS,
    WITHOUT_ROWS,
    check_unchanged,
    fitted_parameter,
    keep_training,
    stored_parameter,
    training_from,
    without_rows,
)
from ipub.estimators.outputs import FrameOutput
from ipub.losses import Loss, Task, loss_names, loss_parameters, make_loss
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.promises import Budget, Draws
from ipub.rows.device import is_foreign
from ipub.tables.conditional_intervals import ConditionalIntervals, IntervalReport
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.sparse_columns import is_sparse
from ipub.training import Training, fit_training
from ipub.training.reading import Parameters
from ipub.training.reading.on_device import filled_rows, uncertain_rows
from ipub.training.reading.sources import is_dask, is_kept, long_table_of, of_each_piece, whole_to_predict
from ipub.training.reading.sparse import filled_sparse_rows, uncertain_sparse_rows

CONSTRAINTS: dict[str, list[Any]] = {
    "alpha": [Interval(Real, 0, None, closed="neither")],
    "l1_ratio": [Interval(Real, 0, 1, closed="left")],
    "fit_intercept": ["boolean"],
    "certificate": [StrOptions(set(CERTIFICATES)), None],
    "effort": [Interval(Real, 0, None, closed="left")],
    "intervals": [str, Mapping, "array-like"],
    "interval_level": [Interval(Real, 0, 1, closed="right")],
    "scale": [StrOptions({"standard", "minmax"}), None],
    "precision": [Interval(Real, 0, None, closed="left"), Mapping, None],
    "handle_unknown": [StrOptions({"error", "any"})],
    "uncertainty": [StrOptions({"worst"}), Budget, Draws],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}
"""What the parameters may be, in the terms of scikit-learn's validation."""


def loss_constraints(task: Task) -> dict[str, list[Any]]:
    """Return the parameter constraints of an estimator that follow from what the losses of its task declare."""
    positive = [Interval(Real, 0, None, closed="neither")]
    return {"loss": [StrOptions(set(loss_names(task)))], **dict.fromkeys(loss_parameters(task), positive)}


class BoundedLinearModel(FrameOutput):
    """Base of the estimators: training at the center and the certificate, for any loss."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"X_lower": True, "X_upper": True}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    loss: str
    handle_unknown: str
    uncertainty: Any
    verbose: int

    certificate_: Certificate | tuple[Certificate, ...] | None
    conditional_intervals_: ConditionalIntervals | None
    coef_: Array
    intercept_: Any

    @property
    def _loss(self) -> Loss:
        return make_loss(self.loss, self.get_params(deep=False))

    def _fit(self, X: Any, y: Any, *arguments: Any) -> Self:
        """Read, train and certify; the estimator changes only at the end, and not at all if anything fails."""
        parameters = parameters_of(self)
        keep_training(self, fit_training(parameters, X, y, *arguments))
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
        check_unchanged(self)
        return training_from(self, self._loss)

    @property
    def interval_report_(self) -> IntervalReport | None:
        """How ``intervals="conditional"`` did on held-out cells, column by column; None with other intervals.

        ``print(estimator.interval_report_)`` shows a table. See `ipub.tables.conditional_intervals.IntervalReport`.
        """
        check_is_fitted(self, "conditional_intervals_")
        found = self.conditional_intervals_
        return None if found is None else found.report

    def _scores(self, X: Any) -> Array:
        """Return the scores of rows under each model trained at the center, shape (m, K)."""
        training, table = self.training_, long_table_of(X)

        def scores(frame: Any) -> Array:
            result: Array = self._filled_rows(frame) @ training.coef.T + training.intercept
            return result

        if table is None:
            return scores(X)
        return np.concatenate(list(of_each_piece(scores, table, training.table.columns)))

    def _filled_rows(self, X: Any) -> Array:
        """Read rows to predict that are in one place, in memory or on a device."""
        table = self.training_.table
        if is_foreign(X) and table.is_plain:
            on_device: Any = filled_rows(table, X)
            return on_device  # type: ignore[no-any-return]
        if is_sparse(X) and table.is_plain:
            return filled_sparse_rows(table, X)  # type: ignore[return-value]
        return table.filled_rows(X, self.handle_unknown == "any")

    def _score_bounds(self, X: Any) -> Array:
        """Bound the scores of rows, which may have holes of their own."""
        training, any_level = self.training_, self.handle_unknown == "any"
        if is_foreign(X) and training.certificates and training.bounds_on_device:
            return training.score_bounds(uncertain_rows(training.table, X))
        table = long_table_of(X)
        if table is None or is_kept(table):
            return training.score_bounds(self._uncertain_rows(X), effort=self.effort, verbose=self.verbose)

        def bounds(frame: Any) -> Array:
            rows = training.table.uncertain_rows(frame, any_level)
            return training.score_bounds(rows, effort=self.effort, n_in_all=table.n_rows)

        parts = []
        with progress("Bounding rows", table.n_rows, bool(self.verbose)) as report:
            for part in of_each_piece(bounds, table, training.table.columns):
                parts.append(part)
                report(sum(map(len, parts)))
        return np.concatenate(parts)

    def _uncertain_rows(self, X: Any) -> IntervalMatrix:
        """Read rows to bound; those of a file into memory."""
        if is_sparse(X) and self.training_.bounds_sparse_rows:
            return uncertain_sparse_rows(self.training_.table, X)  # type: ignore[return-value]
        if is_dask(X):
            raise IpubError(
                "This needs the rows in memory, and X is a Dask collection: choose some rows, and give X.compute()."
            )
        training, table = self.training_, long_table_of(X)
        frame = X if table is None else whole_to_predict(table, training.table.columns)
        return training.table.uncertain_rows(frame, self.handle_unknown == "any")

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

        It needs the training table, and uses the one given to `fit`, which must not be changed: no copy is kept. A
        model that was copied, unpickled or loaded from a file has none.

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

        rows = self._uncertain_rows(X)
        found = search_fillings(self.training_, rows, keep_completions=return_completions, verbose=self.verbose)
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

    def __getstate__(self) -> dict[str, Any]:
        """Leave training rows out of pickles, as out of model files: bounds are then in the form without them."""
        state: dict[str, Any] = super().__getstate__()
        if MODELS not in state:
            return state
        # A filling or an imputer may hold training rows too.
        fitted_with = {name: stored_parameter(value) for name, value in state[FITTED_WITH].items()}
        state = {**state, **WITHOUT_ROWS, FITTED_WITH: fitted_with, "uncertainty": stored_parameter(self.uncertainty)}
        return without_rows(state, fitted_parameter(self, "fit_intercept"))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy with the same bounds; the training table, which is not copied, is not part of it."""
        other = type(self).__new__(type(self))
        shared = {**self.__dict__, **WITHOUT_ROWS} if MODELS in self.__dict__ else self.__dict__
        other.__dict__ = copy.deepcopy(shared, memo)
        return other

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def parameters_of(estimator: BoundedLinearModel) -> Parameters:
    """Return the parameters of an estimator, as reading and training take them."""
    given = estimator.get_params(deep=False)
    names = {field.name for field in fields(Parameters)} - {"kind", "loss"}
    return Parameters(type(estimator), estimator._loss, **{name: given[name] for name in names & given.keys()})


def check_parameters(estimator: BoundedLinearModel) -> None:
    """Raise an error if a parameter has a value that it cannot have, as `fit` does."""
    estimator._validate_params()
