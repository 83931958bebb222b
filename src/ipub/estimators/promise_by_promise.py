"""The same predictions under one promise after another, each as soon as it is known."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from ipub.answers.certainty import is_certain, possible_labels
from ipub.certificates import DrawBounds
from ipub.errors import IpubError, warn_user
from ipub.estimators import BoundedClassifier, BoundedRegressor
from ipub.estimators.classifier import probability_bounds
from ipub.estimators.sklearn_models.certified import certify
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress_of_step
from ipub.promises import Budget, Draws
from ipub.tables.frames import is_frame
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.sparse_columns import as_dense

MOST_ROWS = 100
"""Rows that are looked at if nothing else is said."""

PLAIN_DRAWS = 20
"""Fillings that are drawn and trained on at first, without a certificate."""

PROBED_DRAWS = 2, 3
"""So many draws are made first where time is limited, to see how long all take."""

HOPELESS = 3.0
"""If the first ones, of which one takes longer, seem to need so many times what is left, no more are tried."""

CERTAIN_DRAWS = 37
"""Draws by default: that a class is certain under so many and wrong has a probability below 1 % (thm-draws-class)."""


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
    seconds: float
    """How long it took."""
    is_proved: bool = True
    """False for draws without a certificate, which prove nothing."""
    width: float = np.nan
    """Median width: of the probability of the class that is predicted, if the loss has probabilities; else of the
    scores, or of the predictions of a regression."""


class Skipped(NamedTuple):
    """A promise that was not looked at."""

    name: str
    why: str


@dataclass(frozen=True, eq=False)
class Checked:
    """A model, its training table and the rows that are looked at."""

    model: Any
    X: Any
    y: Any
    rows: NDArray[np.intp]
    tested: Any
    imputer: Any
    intervals: Any
    interval_level: float | None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any,
        y: Any,
        X_test: Any = None,
        *,
        imputer: Any = None,
        intervals: Any = "quantile",
        interval_level: float | None = None,
        most_rows: int | None = MOST_ROWS,
    ) -> Checked:
        """Choose the rows; the parameters are those of `imputation_report`."""
        X = as_dense(X)
        rows, tested = _rows_to_look_at(X, X_test, most_rows)
        return cls(model, X, y, rows, tested, imputer, intervals, interval_level)

    def fitted(self, uncertainty: Any, **other: Any) -> Any:
        """Fit the model under one promise."""
        options = {"uncertainty": uncertainty, **other}
        return _fitted(self.model, self.X, self.y, options, self.intervals, self.interval_level)


def imputation_promises(
    checked: Checked,
    *,
    shares: Sequence[float] = (0.2, 0.05, 0.01),
    draws: Draws | None = None,
    is_quick: bool = False,
    seconds: float = np.inf,
    verbose: int = 0,
) -> Iterator[Promise | Skipped]:
    """Yield what predictions do under one promise after another, each as soon as it is known.

    First what plain draws say, which proves nothing; then draws, budgets from the smallest, and any filling. With
    `is_quick` plain draws and any filling alone. What would take longer than is left of so many `seconds` is skipped.
    """
    draws = Draws(n_draws=CERTAIN_DRAWS) if draws is None else draws
    if not isinstance(draws, Draws):
        raise IpubError(f"draws is {draws!r}: give an object, Draws(n_draws=...).")
    draws.check()
    if not isinstance(shares, Sequence):
        raise IpubError(f"shares is {shares!r}: give a list of shares of the missing values, from 0 to 1.")
    steps = _Steps(checked, time.perf_counter() + seconds, bool(verbose), set())
    # Their predictions are asked for, not their bounds: those of the sphere take the least time.
    few = replace(draws, n_draws=min(PLAIN_DRAWS, draws.n_draws), cells=0)
    yield steps.timed(f"{few.n_draws} plain draws", lambda: _plain(steps.fitted(few, certificate="sphere"), checked))
    as_filled = steps.fitted(Budget(cells=0, filling=checked.imputer), certificate="sphere")
    predicted = as_filled.predict(checked.tested)
    if isinstance(getattr(checked.model, "alpha", None), str):  # picked once: it is the same under all promises
        model = clone(checked.model).set_params(alpha=as_filled.alpha_)
        steps = steps._replace(checked=replace(checked, model=model))
    n_holes = as_filled.training_.around.n_holes
    wanted: list[tuple[str, Any]] = [(f"{draws.n_draws} draws", draws)]
    wanted += reversed(_budgets(shares, checked.imputer, n_holes))
    last = 0.0
    for name, uncertainty in [*([] if is_quick else wanted), ("any filling", "worst")]:
        needed = steps.seconds_of(uncertainty) if isinstance(uncertainty, Draws) else last
        if needed > steps.left:
            is_known = needed > 1.0
            yield Skipped(name, f"skipped: it may take {needed:.0f} s" if is_known else "skipped: no time is left")
            continue
        make = partial(_promise, name, partial(steps.fitted, uncertainty), checked.tested, predicted)
        found = steps.timed(name, make)
        last = 0.0 if isinstance(uncertainty, Draws) else found.seconds
        yield found


class _Steps(NamedTuple):
    """One fit after another, in the time there is."""

    checked: Checked
    end: float
    is_shown: bool
    said: set[str]
    """Warnings that were given: each is given once."""

    @property
    def left(self) -> float:
        return self.end - time.perf_counter()

    def timed(self, name: str, make: Callable[[], Promise]) -> Promise:
        start = time.perf_counter()
        with progress_of_step(name, self.is_shown):
            found = make()
        return found._replace(name=name, seconds=time.perf_counter() - start)

    def fitted(self, uncertainty: Any, **other: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = self.checked.fitted(uncertainty, **other)
        for each in caught:
            if str(each.message) not in self.said:
                self.said.add(str(each.message))
                warn_user(each.message if isinstance(each.message, Warning) else str(each.message))
        return found

    def seconds_of(self, draws: Draws) -> float:
        """Return about how long draws take, bounds included, by a few of them; 0 if there is no end."""
        seconds: list[float] = []
        for count in PROBED_DRAWS if np.isfinite(self.end) else ():
            start = time.perf_counter()
            _bounds(self.fitted(replace(draws, n_draws=min(count, draws.n_draws))), self.checked.tested)
            seconds.append(time.perf_counter() - start)
            if seconds[0] * draws.n_draws > HOPELESS * PROBED_DRAWS[0] * self.left:
                return seconds[0] * draws.n_draws / PROBED_DRAWS[0]
        return seconds[0] + (seconds[1] - seconds[0]) * (draws.n_draws - 2) if seconds else 0.0


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


def _rows_to_look_at(X: Any, X_test: Any, most: int | None) -> tuple[NDArray[np.intp], Any]:
    """Return the rows to bound and their numbers."""
    if X_test is not None:
        X_test = X_test[:most] if most is not None and len(X_test) > most else X_test
        return np.arange(len(X_test)), X_test
    if isinstance(X, IntervalMatrix):
        raise IpubError("X is a table of intervals, whose rows are not looked at: give X_test.")
    if is_frame(X):
        import narwhals.stable.v1 as nw

        frame = nw.from_native(X, eager_only=True)
        columns = [frame[name] for name in frame.columns]
        missing = [column.is_null().to_numpy() for column in columns]
        missing += [column.is_nan().fill_null(value=True).to_numpy() for column in columns if column.dtype.is_float()]
        rows = np.flatnonzero(~np.any(missing, axis=0))[:most]
        tested: Any = nw.to_native(frame[rows.tolist()])
    else:
        table = np.asarray(X, dtype=float)
        rows = np.flatnonzero(~np.isnan(table).any(axis=1))[:most]
        tested = table[rows]
    if len(rows) == 0:
        raise IpubError("Every training row has a hole, so there is none to look at: give X_test.")
    return rows, tested


def _fitted(model: Any, X: Any, y: Any, options: dict[str, Any], intervals: Any, interval_level: float | None) -> Any:
    if isinstance(model, BoundedClassifier | BoundedRegressor):
        if model.certificate is None:
            raise IpubError("The report compares bounds, and certificate=None proves none: set certificate='tight'.")
        return clone(model).set_params(**options).fit(X, y)
    return certify(model, X, y, intervals=intervals, interval_level=interval_level, **options)


def _bounds(fitted: Any, tested: Any) -> Array:
    return np.asarray((fitted.decision_bounds if is_classifier(fitted) else fitted.predict_bounds)(tested))


def _promise(name: str, fit: Callable[[], Any], tested: Any, predicted: NDArray[Any]) -> Promise:
    fitted = fit()
    certificates = fitted.training_.certificates
    notes = " ".join(dict.fromkeys(each.note for each in certificates if each.note))
    bounds = _bounds(fitted, tested)
    found = Promise(name, certificates[0].promise, bounds, None, notes, 0.0)
    if not is_classifier(fitted):
        return found._replace(width=_median_width(bounds))
    # One label is possible, and it is the one that the model in question predicts.
    of_predicted = np.arange(len(bounds)), np.searchsorted(fitted.classes_, predicted)
    certain = is_certain(bounds) & possible_labels(bounds)[of_predicted]
    shown = probability_bounds(fitted.training_.loss, bounds) if hasattr(fitted, "predict_proba") else bounds
    return found._replace(certain=certain, width=_median_width(shown if shown.ndim == 2 else shown[of_predicted]))


def _median_width(bounds: Array) -> float:
    return float(np.median(bounds[:, 1] - bounds[:, 0]))


def _plain(fitted: Any, checked: Checked) -> Promise:
    """Say what the models trained on draws predict, without a certificate."""
    training = fitted.training_
    rows = training.table.filled_rows(checked.tested)
    parts = [certificate.part(DrawBounds) for certificate in training.certificates]
    weights = np.stack([part.weights for part in parts if part is not None])
    rows = np.column_stack([rows, np.ones((len(rows), weights.shape[2] - rows.shape[1]))])
    scores = np.einsum("kte,me->mtk", weights, rows)
    sentence = f"These {weights.shape[1]} fillings say so; others may not: nothing is proved."
    ends = np.stack([scores.min(axis=1), scores.max(axis=1)], axis=-1)
    found = Promise("", sentence, ends[:, 0] if scores.shape[2] == 1 else ends, None, "", 0.0, is_proved=False)
    if not is_classifier(fitted):
        return found._replace(width=_median_width(found.bounds))
    classes = scores[:, :, 0] > 0.0 if scores.shape[2] == 1 else scores.argmax(axis=2)
    if hasattr(fitted, "predict_proba"):
        scores = training.loss.link_range(scores, scores)[0]
        scores = scores / scores.sum(axis=2, keepdims=True) if scores.shape[2] > 1 else scores
    of_first = scores[np.arange(len(scores)), :, classes[:, 0] if scores.shape[2] > 1 else 0]
    width = float(np.median(of_first.max(axis=1) - of_first.min(axis=1)))
    return found._replace(certain=(classes == classes[:, :1]).all(axis=1), width=width)
