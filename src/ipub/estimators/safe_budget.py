"""The largest budget that keeps most predictions: what is still promised where any filling is too much to ask."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from ipub.answers.certainty import is_certain
from ipub.certificates.row_sums.table import is_small
from ipub.estimators.classifier import BoundedClassifier
from ipub.estimators.fitted_state import keep_training
from ipub.estimators.linear_model import check_parameters, parameters_of
from ipub.estimators.regressor import BoundedRegressor
from ipub.promises import Budget
from ipub.rows import MemoryRows, engine_of
from ipub.training.alpha_choice import with_chosen_alpha
from ipub.training.filled import FilledTraining, attempt_budget, train_on_filled, training_around
from ipub.training.reading import Parameters, TrainingData
from ipub.training.reading.sources import read_source

SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Shares of the missing values that are tried first, after a single one."""

FINE, MOST_REFINED = 1.2, 4
"""Between the largest of these that keeps enough and the next, so many more are tried, until they are as close as this:
time against a larger number."""

MOST_WORK = 1 << 30
"""Work of a certificate, counted as in `is_small`, up to which they are tried, and shares above `MOST_OF_LONG`: beyond
it each takes seconds."""
MOST_OF_LONG = 0.1

NARROW = 0.5
"""Bounds of a regression are useful if they are no wider than so many standard deviations of the targets."""


class SafeBudget(NamedTuple):
    """How many missing values may differ from the filled-in ones while most predictions stay what they are."""

    cells: int
    """So many: bounds were proved with ``Budget(cells=cells)``."""
    n_missing: int
    """Of so many missing values of the training table."""
    share: float
    """Of the predictions that were asked for: certain ones; in a regression, those with useful bounds."""
    filled_in: float
    """The same if the training table is the filled-in one: what is missing are rows whose own holes matter."""
    model: Any
    """The fitted estimator with that promise, whose bounds these are."""


def largest_safe_budget(
    estimator: BoundedClassifier | BoundedRegressor,
    X: Any,
    y: Any,
    rows: Any,
    *,
    keep: float = 0.9,
    **fit_arguments: Any,
) -> SafeBudget | None:
    """Find how many missing values may differ from the filled-in ones while most predictions stay certain.

    The greatest number k is looked for such that with ``uncertainty=Budget(cells=k)`` at least the share `keep` of
    those predictions is certain that are with ``cells=0``. If that is no number above 0, k is the one with most certain
    predictions. Each k that is tried is certified, and what is returned is of the certificate of the k that is
    returned: that the share falls with k saves time, and nothing else rests on it. In a regression predictions count
    whose bounds are at most half a standard deviation of y wide.

    Shares of 1 to 50 % (of long tables, 10 %) and a single value are tried by halving, and in short tables some numbers
    between them: about eight certificates, and one training.

    Parameters
    ----------
    estimator : BoundedClassifier or BoundedRegressor
        Gives all parameters but `uncertainty`, of which the filling of a `Budget` is kept. It is not changed. If its
        alpha is picked by cross-validation, that is done once, and the model that is returned has the number.
    X, y
        The training table, in memory, and its labels or targets, as for `fit`.
    rows
        The rows to predict; missing values of their own may be anything.
    keep : float
        Share of the predictions to keep.
    **fit_arguments
        Further arguments of `fit`: ``sample_weight``, ``X_lower`` and ``X_upper``.

    Returns
    -------
    SafeBudget or None
        With 0 cells if nothing is proved for a single one. None if nothing is missing, or budgets are not proved for
        the loss or for so large a table.

    Examples
    --------
    >>> from ipub import BoundedClassifier
    >>> from ipub.datasets import load_mammographic_masses
    >>> from ipub.estimators.safe_budget import largest_safe_budget
    >>> X, y = load_mammographic_masses()
    >>> found = largest_safe_budget(BoundedClassifier(alpha=0.001, scale="standard"), X, y, X[:50])
    >>> print(f"{found.share:.0%} certain if at most {found.cells} of {found.n_missing} values differ")
    78% certain if at most 14 of 160 values differ
    """
    given = estimator.uncertainty
    budget = Budget(cells=0, filling=given.filling if isinstance(given, Budget) else None)
    template = clone(estimator).set_params(uncertainty=budget)
    inspect.signature(template.fit).bind(X, y, **fit_arguments)
    check_parameters(template)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `fit` reads the same table, and says it once
        parameters = parameters_of(template)
        data, X = read_source(parameters, X, y, **fit_arguments)
        parameters, _ = with_chosen_alpha(parameters, data)
        template.set_params(alpha=parameters.alpha)
        cells = X, fit_arguments.get("X_lower"), fit_arguments.get("X_upper")
        search = _Search(template, parameters, data, train_on_filled(parameters, data, budget, cells), rows)
        return search.largest(keep)


class _Search:
    """Budgets that were tried, and what each of them keeps."""

    def __init__(
        self, template: Any, parameters: Parameters, data: TrainingData, filled: FilledTraining, rows: Any
    ) -> None:
        self._template, self._parameters, self._data, self._filled = template, parameters, data, filled
        self._rows, self._most_width = rows, 0.0
        if not is_classifier(template):
            engine = engine_of(data.rows[0])
            assert isinstance(engine, MemoryRows)  # else the table could not be filled in
            self._most_width = NARROW * float(np.std(engine.y))
        self._models: dict[int, Any] = {}
        self._shares: dict[int, float] = {}

    def largest(self, keep: float) -> SafeBudget | None:
        """Return the largest budget that keeps so much, or else the one that keeps most."""
        n = self._filled.n_holes
        of_filled = self._share(0)
        if 0 not in self._models or n == 0:
            return None
        rows = self._filled.models[0].problem.rows
        is_short = is_small(rows.n_rows, rows.n_features, MOST_WORK)
        shares = [share for share in SHARES if is_short or share <= MOST_OF_LONG]
        steps = sorted({1, *(int(share * n) for share in shares)} - {0})
        enough = keep * of_filled
        low, high, at = -1, len(steps), min(3, len(steps) - 1)
        while low < at:
            low, high = (at, high) if self._share(steps[at]) >= enough else (low, at)
            at = (low + high) // 2
        if low >= 0 and is_short:
            self._refine(steps[low], steps[high] if high < len(steps) else n + 1, enough)
        found = [k for k, share in self._shares.items() if k and share >= enough]
        k = max(found) if found else max(self._shares.keys() - {0}, key=lambda k: (self._shares[k], k))
        k = k if self._shares[k] else 0
        return SafeBudget(k, n, self._shares[k], of_filled, self._models[k])

    def _refine(self, low: int, high: int, enough: float) -> None:
        """Try numbers between one that keeps enough and one that does not."""
        for _ in range(MOST_REFINED):
            middle = int(np.sqrt(low * high))
            if middle == low or high <= FINE * low:
                break
            low, high = (middle, high) if self._share(middle) >= enough else (low, middle)

    def _share(self, k: int) -> float:
        """Return which share of the predictions a budget keeps; 0 if nothing is proved."""
        if k not in self._shares:
            budget = Budget(cells=k, filling=self._template.uncertainty.filling)
            attempts = attempt_budget(self._filled, budget)
            if any(attempt.found is None for attempt in attempts):
                self._shares[k] = 0.0
                return 0.0
            model = clone(self._template).set_params(uncertainty=budget)
            keep_training(model, training_around(self._parameters, self._data, self._filled, budget, attempts))
            self._models[k], self._shares[k] = model, self._kept(model)
        return self._shares[k]

    def _kept(self, model: Any) -> float:
        if is_classifier(model):
            return float(is_certain(model.decision_bounds(self._rows)).mean())
        return float((np.ptp(model.predict_bounds(self._rows), axis=1) <= self._most_width).mean())
