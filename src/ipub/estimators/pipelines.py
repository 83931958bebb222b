"""Pipelines of scikit-learn that end in a bounded estimator, with its methods for bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils._indexing import _get_column_indices
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ipub.errors import IpubError, IpubTypeError
from ipub.estimators.linear_model import BoundedLinearModel
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.what_is_missing import missing_cells

KEEP_ORDER = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
"""Steps that take each column by itself, and of two values the larger to the larger: bounds of cells stay bounds."""

CELL_BOUNDS = ("X_lower", "X_upper")
"""Arguments of `fit` that are bounds of cells."""


def _of_last_step(name: str) -> Any:
    """Return a method that transforms rows by the steps before, and asks the last one."""

    def method(self: BoundedPipeline, X: Any, *arguments: Any, **named: Any) -> Any:
        return getattr(self[-1], name)(self.through_steps(X), *arguments, **named)

    def has_it(self: BoundedPipeline) -> bool:
        getattr(self[-1], name)  # raises an AttributeError that says why not
        return True

    method.__name__ = name
    method.__doc__ = f"""Return `{name}` of the last step, of rows as the first step takes them.

    Further arguments are passed on. See the method of the same name of `ipub.BoundedClassifier` or
    `ipub.BoundedRegressor`.
    """
    return available_if(has_it)(method)


class BoundedPipeline(Pipeline):
    """A pipeline of scikit-learn that ends in a bounded estimator, with its methods for bounds.

    What the bounds promise is about the table as the last step gets it: the steps before are learnt once, of the table
    with its missing values, and are the same for every filling. So they must leave missing values missing. `fit` and
    the methods for bounds raise an error that names a step which fills in some, since nothing would be left to bound;
    steps may leave out columns.

    Parameters
    ----------
    steps : list of (name, estimator)
        The last one is a `BoundedClassifier` or `BoundedRegressor`.
    transform_input, memory, verbose
        As in `sklearn.pipeline.Pipeline`.

    Notes
    -----
    Bounds of each cell, `X_lower` and `X_upper`, would have to be transformed like X. With scikit-learn's metadata
    routing and ``transform_input=["X_lower", "X_upper"]`` they are; steps must be scalers then, which keep the order of
    values. Otherwise they are refused: scale inside the estimator (``scale="standard"``), and give them to it.

    See Also
    --------
    make_bounded_pipeline : Names the steps by their classes.
    certify : Bounds for a pipeline that scikit-learn has trained already, which may have an imputer.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ipub import BoundedClassifier, BoundedPipeline
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal([0.0, 100.0], [1.0, 20.0], size=(100, 2))
    >>> y = X[:, 0] + X[:, 1] / 20.0 > 5.0
    >>> X[:8, 0] = np.nan
    >>> pipe = BoundedPipeline([("scale", StandardScaler()), ("model", BoundedClassifier())]).fit(X, y)
    >>> pipe.predict_set([[2.0, 120.0], [0.0, 100.0]])
    array([[False,  True],
           [ True,  True]])
    """

    decision_bounds = _of_last_step("decision_bounds")
    predict_proba_bounds = _of_last_step("predict_proba_bounds")
    predict_bounds = _of_last_step("predict_bounds")
    predict_set = _of_last_step("predict_set")
    predict_status = _of_last_step("predict_status")
    attained_bounds = _of_last_step("attained_bounds")
    flip_distance = _of_last_step("flip_distance")
    score_range = _of_last_step("score_range")
    top = _of_last_step("top")
    influence = _of_last_step("influence")
    explain = _of_last_step("explain")
    tipping_points = _of_last_step("tipping_points")
    report = _of_last_step("report")
    measurement_plan = _of_last_step("measurement_plan")
    sufficient_cells = _of_last_step("sufficient_cells")
    shift_grid = _of_last_step("shift_grid")

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps one after the other, as `sklearn.pipeline.Pipeline.fit` does.

        Raises IpubError if a step fills in missing values: the last step is not fitted then.
        """
        self._check_last_step()
        self._check_cell_bounds(X, params)
        super().fit(X, y, **params)
        try:
            self.through_steps(X)
        except IpubError:
            name, last = self.steps[-1]
            self.steps[-1] = (name, clone(last))
            raise
        return self

    def through_steps(self, X: Any) -> Any:
        """Return rows as the last step gets them.

        Raises IpubError if a step fills in missing values.
        """
        check_is_fitted(self)
        if isinstance(X, IntervalMatrix) and len(self.steps) > 1:
            raise IpubError(_cell_bounds_refused("An IntervalMatrix"))
        for name, step in self._steps_before():
            after = step.transform(X)
            missing = missing_cells(X)[:, _used_columns(step, X)]
            filled = np.flatnonzero(missing.sum(axis=1) > missing_cells(after).sum(axis=1))
            if len(filled):
                raise IpubError(
                    "The step {name!r} ({kind}) leaves fewer missing values than it gets, first in {row}, and what it "
                    "fills in would not be bounded. Leave it out, and give the missing values to the last step; "
                    "`certify` bounds a trained pipeline that has an imputer.",
                    name=name,
                    kind=type(step).__name__,
                    row=int(filled[0]),
                )
            X = after
        return X

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what the steps return, and the methods for bounds: arrays, or frames of a library.

        Parameters
        ----------
        transform : {"default", "pandas", "polars", "pyarrow"}, optional
            Of PyArrow, which the steps of scikit-learn do not make, only the bounds are. None changes nothing.
        """
        super().set_output(transform=None if transform == "pyarrow" else transform)
        self.steps[-1][1].set_output(transform=transform)
        return self

    def _steps_before(self) -> Iterator[tuple[str, Any]]:
        """Yield the steps before the last one that do something."""
        for name, step in self.steps[:-1]:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                yield name, step

    def _check_last_step(self) -> None:
        last = self.steps[-1][1]
        if not isinstance(last, BoundedLinearModel):
            raise IpubTypeError(
                f"The last step of a BoundedPipeline is a BoundedClassifier or a BoundedRegressor, not a "
                f"{type(last).__name__}. `certify` bounds a trained pipeline that ends in a model of scikit-learn."
            )

    def _check_cell_bounds(self, X: Any, params: dict[str, Any]) -> None:
        """Raise an error for bounds of cells that steps would not transform, or not keep in order."""
        before = list(self._steps_before())
        given = [name for name in params if name.split("__")[-1] in CELL_BOUNDS and params[name] is not None]
        if isinstance(X, IntervalMatrix):
            given.append("An IntervalMatrix")
        if not given or not before:
            return
        if not set(given) <= set(self.transform_input or ()):
            raise IpubError(_cell_bounds_refused(given[0]))
        for name, step in before:
            if type(step) not in KEEP_ORDER:
                raise IpubError(
                    f"The step {name!r} ({type(step).__name__}) is not known to keep the order of values in each "
                    f"column, so {given[0]} would not be a bound behind it: only scalers are."
                )


def make_bounded_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> BoundedPipeline:
    """Make a `BoundedPipeline` whose steps are named by their classes.

    Parameters
    ----------
    *steps : estimators
        The last one is a `BoundedClassifier` or `BoundedRegressor`; those before leave missing values missing.
    memory, verbose
        As in `sklearn.pipeline.make_pipeline`.

    Returns
    -------
    BoundedPipeline

    Examples
    --------
    >>> from sklearn.preprocessing import RobustScaler
    >>> from ipub import BoundedRegressor, make_bounded_pipeline
    >>> X, y = [[0.0, 1.0], [1.0, None], [2.0, 1.5], [3.0, 0.5]], [1.0, 2.0, 3.0, 4.0]
    >>> pipe = make_bounded_pipeline(RobustScaler(), BoundedRegressor(alpha=1.0)).fit(X, y)
    >>> low, high = pipe.predict_bounds([[1.5, 1.0]])[0]
    >>> bool(low < pipe.predict([[1.5, 1.0]])[0] < high)
    True
    """
    return BoundedPipeline(make_pipeline(*steps).steps, memory=memory, verbose=verbose)


def _cell_bounds_refused(what: str) -> str:
    return (
        f"{what} gives bounds of cells, which steps before the estimator do not transform: scale inside the estimator "
        "(scale='standard') and give them to it; or enable scikit-learn's metadata routing, and make the pipeline with "
        "transform_input=['X_lower', 'X_upper']."
    )


def _used_columns(step: Any, X: Any) -> Any:
    """Return which columns of X a fitted step uses: some leave out columns by design."""
    if isinstance(step, SelectorMixin):
        return step.get_support()
    if isinstance(step, ColumnTransformer):
        kept = [columns for _, part, columns in step.transformers_ if not (isinstance(part, str) and part == "drop")]
        return sorted({number for columns in kept for number in _get_column_indices(X, columns)})
    return slice(None)
