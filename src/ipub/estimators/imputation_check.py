"""Is a model safe with the imputation it was trained on? The same predictions under one promise after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from ipub.answers.certainty import is_certain, possible_labels
from ipub.errors import IpubError
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.estimators.outputs import text_table
from ipub.estimators.sklearn_models.certified import certify
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.promises import Budget, Draws
from ipub.tables.frames import is_frame
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.sparse_columns import as_dense

MOST_ROWS = 200
"""Training rows that are looked at if no other rows are given."""

SHOWN_ROWS = 10
"""Numbers of rows that a line of the report names, at most."""


class Promise(NamedTuple):
    """What the predictions do under one promise."""

    name: str
    sentence: str
    """What is promised, and whether always or with which probability."""
    bounds: Array
    """Bounds of the scores or predictions, shape (m, 2) or (m, n_classes, 2)."""
    certain: NDArray[np.bool_] | None
    """Which predictions of the model no table within the promise changes; None for a regression."""
    note: str

    @property
    def width(self) -> float:
        """Median width of the bounds."""
        return float(np.median(self.bounds[..., 1] - self.bounds[..., 0]))


@dataclass(frozen=True, repr=False, eq=False)
class ImputationReport:
    """What `imputation_report` found; ``print(report)`` shows a table and says what it means.

    Attributes
    ----------
    imputation : str
        How the training table was filled in.
    rows : array of shape (m,)
        Numbers of the rows that were looked at.
    promises : tuple of Promise
        From the strongest, any filling, to the weakest.
    """

    imputation: str
    rows: NDArray[np.intp]
    promises: tuple[Promise, ...]

    def unsafe_rows(self, name: str) -> NDArray[np.intp]:
        """Return the numbers of the rows whose prediction may change under a promise, named as in the table."""
        for promise in self.promises:
            if promise.name == name:
                if promise.certain is None:
                    raise IpubError("A regression has no classes that change: look at the bounds.")
                return np.asarray(self.rows[~promise.certain])
        known = ", ".join(repr(promise.name) for promise in self.promises)
        raise IpubError(f"There is no promise {name!r}: use {known}.")

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of the table by name, for ``pandas.DataFrame(report.columns())``."""
        columns: dict[str, list[Any]] = {"promise": [promise.name for promise in self.promises]}
        certain = [promise.certain for promise in self.promises if promise.certain is not None]
        if certain:
            columns["certain"] = [float(each.mean()) for each in certain]
        columns["width"] = [promise.width for promise in self.promises]
        return columns

    @property
    def verdict(self) -> str:
        """What the table says, in a few sentences."""
        if self.promises[0].certain is None:
            return f"The table was filled in by {self.imputation}."
        for promise in self.promises:
            if promise.certain is not None and promise.certain.all():
                return (
                    f"Filled in by {self.imputation}: all {len(self.rows)} predictions are safe under the promise "
                    f"'{promise.name}'. {promise.sentence}"
                )
        last = self.promises[-1]
        unsafe = self.unsafe_rows(last.name)
        listed = ", ".join(map(str, unsafe[:SHOWN_ROWS])) + (", ..." if len(unsafe) > SHOWN_ROWS else "")
        return (
            f"Filled in by {self.imputation}: {len(self.rows) - len(unsafe)} of {len(self.rows)} predictions are safe "
            f"under the promise '{last.name}'; rows that may change: {listed}. {last.sentence}"
        )

    def __repr__(self) -> str:
        columns = [
            [name, *(value if isinstance(value, str) else f"{value:.3g}" for value in values)]
            for name, values in self.columns().items()
        ]
        return text_table(columns, [self.verdict], left=1)


def imputation_report(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    *,
    imputer: Any = None,
    shares: Sequence[float] = (0.2, 0.05, 0.01),
    draws: Draws | None = None,
    intervals: Any = "quantile",
    interval_level: float = 0.9,
    verbose: int = 0,
) -> ImputationReport:
    """Check whether predictions are safe with the imputation that a model was trained on.

    The same rows are bounded under any filling of the holes, under budgets of them that differ from what was filled in,
    and under draws of an imputer. The table says where a prediction stops being safe.

    Parameters
    ----------
    model : fitted model or Pipeline of scikit-learn, BoundedClassifier or BoundedRegressor
        What `ipub.certify` takes: the filling is that of the imputer in the pipeline. Or an estimator of this package,
        which is cloned and fitted.
    X, y
        Training table with its holes, and labels or targets.
    X_test : array or DataFrame, optional
        The rows to look at; else those training rows that have no holes, at most 200.
    imputer : "middle", "mean", "median", imputer, array or DataFrame, optional
        The filling, as in `Budget`; else that of the pipeline, or the middle of every interval.
    shares : sequence of float, default=(0.2, 0.05, 0.01)
        Which shares of the holes may differ from what was filled in. A share of less than one hole is one hole.
    draws : Draws, optional
        Which draws; else 199 of the hot deck, with a radius of 0.1.
    intervals, interval_level
        As in `BoundedClassifier`; for an estimator of this package its own are used.
    verbose : int, default=0
        Whether progress is shown.

    Returns
    -------
    ImputationReport

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ipub import Draws, imputation_report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 3))
    >>> y = X[:, 0] + X[:, 1] > rng.normal(size=120)
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1)).fit(X, y)
    >>> report = imputation_report(pipeline, X, y, draws=Draws(n_draws=19, random_state=0))
    >>> report.columns()["promise"]
    ['any filling', '20 % differ', '5 % differ', '1 hole differs', '19 draws']
    """
    draws = Draws() if draws is None else draws
    if not isinstance(draws, Draws):
        raise IpubError(f"draws is {draws!r}: give an object, Draws(n_draws=...).")
    draws.check()
    if not isinstance(shares, Sequence):
        raise IpubError(f"shares is {shares!r}: give a list of shares of the missing values, from 0 to 1.")
    X = as_dense(X)
    rows, tested = _rows_to_look_at(X, X_test)
    with progress("Promises", len(shares) + 3, bool(verbose)) as report:

        def fitted(uncertainty: Any, **other: Any) -> Any:
            return _fitted(model, X, y, {"uncertainty": uncertainty, **other}, intervals, interval_level)

        # Its predictions are asked for, not its bounds: those of the sphere take the least time.
        as_filled = fitted(Budget(cells=0, filling=imputer), certificate="sphere")
        predicted = as_filled.predict(tested)
        if isinstance(getattr(model, "alpha", None), str):  # picked once: it is the same under all promises
            model = clone(model).set_params(alpha=as_filled.alpha_)
        report(1)
        budgets, promises = _budgets(shares, imputer, as_filled.training_.around.n_holes), []
        wanted: list[tuple[str, Any]] = [("any filling", "worst"), *budgets, (f"{draws.n_draws} draws", draws)]
        for name, uncertainty in wanted:
            promises.append(_promise(name, fitted(uncertainty), tested, predicted))
            report(1 + len(promises))
    return ImputationReport(_imputation(model, imputer), rows, tuple(promises))


def _budgets(shares: Sequence[float], imputer: Any, n_holes: int) -> list[tuple[str, Budget]]:
    """Return budgets by name; less than one of the holes is one, for a budget of none promises nothing."""
    budgets = {}
    for share in shares:
        budget = Budget(share=share, filling=imputer)
        budget.check()
        name = f"{100.0 * share:g} % differ"
        if n_holes and not budget.count(n_holes):
            name, budget = "1 hole differs", Budget(cells=1, filling=imputer)
        budgets[name] = budget
    return list(budgets.items())


def _rows_to_look_at(X: Any, X_test: Any) -> tuple[NDArray[np.intp], Any]:
    """Return the rows to bound and their numbers."""
    if X_test is not None:
        return np.arange(len(X_test)), X_test
    if isinstance(X, IntervalMatrix):
        raise IpubError("X is a table of intervals, whose rows are not looked at: give X_test.")
    if is_frame(X):
        import narwhals.stable.v1 as nw

        frame = nw.from_native(X, eager_only=True)
        columns = [frame[name] for name in frame.columns]
        missing = [column.is_null().to_numpy() for column in columns]
        missing += [column.is_nan().fill_null(value=True).to_numpy() for column in columns if column.dtype.is_float()]
        rows = np.flatnonzero(~np.any(missing, axis=0))[:MOST_ROWS]
        tested: Any = nw.to_native(frame[rows.tolist()])
    else:
        table = np.asarray(X, dtype=float)
        rows = np.flatnonzero(~np.isnan(table).any(axis=1))[:MOST_ROWS]
        tested = table[rows]
    if len(rows) == 0:
        raise IpubError("Every training row has a hole, so there is none to look at: give X_test.")
    return rows, tested


def _fitted(model: Any, X: Any, y: Any, options: dict[str, Any], intervals: Any, interval_level: float) -> Any:
    if isinstance(model, BoundedClassifier | BoundedRegressor):
        if model.certificate is None:
            raise IpubError("The report compares bounds, and certificate=None proves none: set certificate='tight'.")
        return clone(model).set_params(**options).fit(X, y)
    return certify(model, X, y, intervals=intervals, interval_level=interval_level, **options)


def _promise(name: str, fitted: Any, tested: Any, predicted: NDArray[Any]) -> Promise:
    certificates = fitted.training_.certificates
    notes = " ".join(dict.fromkeys(each.note for each in certificates if each.note))
    if not is_classifier(fitted):
        return Promise(name, certificates[0].promise, np.asarray(fitted.predict_bounds(tested)), None, notes)
    bounds = np.asarray(fitted.decision_bounds(tested))
    # One label is possible, and it is the one that the model in question predicts.
    is_predicted = possible_labels(bounds)[np.arange(len(bounds)), np.searchsorted(fitted.classes_, predicted)]
    return Promise(name, certificates[0].promise, bounds, is_certain(bounds) & is_predicted, notes)


def _imputation(model: Any, imputer: Any) -> str:
    """Say how the table was filled in."""
    if isinstance(imputer, str):
        return f"the {imputer}" if imputer != "middle" else "the middle of every interval"
    if imputer is not None:
        return type(imputer).__name__ if hasattr(imputer, "fit_transform") else "the filling that was given"
    # Those inside a ColumnTransformer too.
    names = (type(part).__name__ for part in model.get_params().values())
    imputers = list(dict.fromkeys(name for name in names if "Imputer" in name))
    return " and ".join(imputers) or "the middle of every interval"
