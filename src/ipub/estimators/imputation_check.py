"""Is a model safe with the imputation it was trained on? The same predictions under one promise after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ipub.errors import IpubError
from ipub.estimators.outputs import text_table
from ipub.estimators.promise_by_promise import MOST_ROWS, Checked, Promise, imputation_promises
from ipub.promises import Draws

SHOWN_ROWS = 10
"""Numbers of rows that a line of the report names, at most."""


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
    plain : Promise or None
        What fillings drawn at random say without a certificate; it proves nothing.
    """

    imputation: str
    rows: NDArray[np.intp]
    promises: tuple[Promise, ...]
    plain: Promise | None = None

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
    interval_level: float | None = None,
    most_rows: int | None = MOST_ROWS,
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
        The rows to look at; else those training rows that have no holes.
    imputer : "middle", "mean", "median", imputer, array or DataFrame, optional
        The filling, as in `Budget`; else that of the pipeline, or the middle of every interval.
    shares : sequence of float, default=(0.2, 0.05, 0.01)
        Which shares of the holes may differ from what was filled in. A share of less than one hole is one hole.
    draws : Draws, optional
        Which draws; else 37 of the hot deck, with a radius of 0.1: if the missing values have a law within that radius
        of the imputer's, then for a row that is chosen before the draws the probability that a class is certain under
        all of them and another one is that of the true table is below 1 %.
    intervals
        As in `BoundedClassifier`; for an estimator of this package its own are used.
    interval_level : float, optional
        Former name of the level of `Intervals`.
    most_rows : int or None, default=100
        How many rows are looked at, the first ones; None for all.
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
    checked = Checked.of(
        model, X, y, X_test, imputer=imputer, intervals=intervals, interval_level=interval_level, most_rows=most_rows
    )
    promises = imputation_promises(checked, shares=shares, draws=draws, verbose=verbose)
    return report_of(checked, [each for each in promises if isinstance(each, Promise)])


def report_of(checked: Checked, found: Sequence[Promise]) -> ImputationReport:
    """Put promises together, the strongest first."""
    proved = tuple(each for each in reversed(found) if each.is_proved)
    plain = next((each for each in found if not each.is_proved), None)
    return ImputationReport(_imputation(checked.model, checked.imputer), checked.rows, proved, plain)


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
