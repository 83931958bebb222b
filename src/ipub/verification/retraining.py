"""`ipub.verify`: checks the bounds of a fitted model by retraining it on fillings, by other code than proved them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ipub.errors import IpubError
from ipub.progress_bars import progress
from ipub.promises import Budget, Draws
from ipub.verification import ball_proofs
from ipub.verification.checked_rows import CheckedRows, Violation, rows_with_bounds
from ipub.verification.claim import Claim, Filling, Given, claims_of, promised_counts
from ipub.verification.coverage import Coverage, Simulation, knows_law
from ipub.verification.own_table import check_table
from ipub.verification.plain_losses import Array
from ipub.verification.plain_training import Model, train
from ipub.verification.record import Verification
from ipub.verification.search_fillings import Goal, attempts, base_filling, random_filling

FOR_PROOFS = 0.25
"""Share of the time that proofs of all fillings of a small table may take."""


def verify(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any,
    *,
    sample_weight: Any = None,
    X_lower: Any = None,
    X_upper: Any = None,
    y_lower: Any = None,
    y_upper: Any = None,
    seconds: float = 60.0,
    retrainings: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Verification:
    """Check the bounds of a fitted model by retraining it on fillings of its training table.

    The code that checks shares nothing with the code that proves: it has its own losses, its own solver (NumPy and
    SciPy) and its own error bound, so that what it calls violated is. Half of the fillings are chosen to push the
    score of a row out of its bounds, first with missing values at the ends of their intervals, then inside; the other
    half is random. With a `Budget` they stay within it, and the counts in the sentence of the promise are compared
    with the parameters; with `Draws`, tables are drawn by the imputer, and the misses counted.
    If python-flint is installed (the extra ``ipub[verify]``), the models that came closest to a bound are proved again
    in ball arithmetic; of small tables with one or two missing values it is proved, row by row, that no filling at all
    leaves the bounds by more than 1 % of their width.

    No violation is no proof, unless the record says that all rows are proved. What is read from the model are its
    parameters, the intervals, the encoding and scaling of columns, and its bounds.

    Parameters
    ----------
    model : BoundedClassifier or BoundedRegressor
        Fitted, loaded from a file, or what `certify` returned.
    X, y, sample_weight, X_lower, X_upper, y_lower, y_upper
        What the model was fitted on, in memory.
    X_test : array, DataFrame or IntervalMatrix of shape (m, n_features)
        Rows whose bounds are checked. The bounds of the weights and of the intercept are checked as well.
    seconds : float, default=60.0
        How long to try. The time decides how much is checked, and nothing else.
    retrainings : int, optional
        How many models to train at most. With this, and enough time, the same seed checks the same.
    random_state : int, default=0
        Seed.
    verbose : int, default=0
        If positive, show progress.

    Returns
    -------
    Verification
        ``ok`` says if nothing is violated; ``print`` shows the record.

    Raises
    ------
    IpubError
        If training on the table does not give the weights of the model: it is another table, or the model was altered.
        A model of `Draws` is not compared.

    Examples
    --------
    >>> import numpy as np
    >>> import ipub
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> X[:3, 1] = np.nan
    >>> reg = ipub.BoundedRegressor(alpha=0.1).fit(X, y)
    >>> record = ipub.verify(reg, X, y, rng.normal(size=(4, 2)), retrainings=100)
    >>> record.ok, record.n_violations, record.n_checks > 500
    (True, 0, True)
    """
    start = time.perf_counter()
    check_can_verify(model)
    given = Given(X, y, sample_weight, X_lower, X_upper, y_lower, y_upper)
    rng = np.random.default_rng(random_state)
    claims = claims_of(model, given)
    check_table(model, claims)
    rows = rows_with_bounds(model, claims, X_test)
    work = _Work(start + seconds, retrainings)
    promise, coverage = _promise(model), None
    wrong = [] if not isinstance(model.uncertainty, Budget) else _wrong_counts(claims[0], promise)
    with progress("Retraining on fillings", 1.0, bool(verbose)) as report:
        if isinstance(model.uncertainty, Draws):
            coverage = _simulated(model, given, rows, rng, work, report)
        else:
            _attack(rows, rng, work, report)
    n_in_balls, n_proved = _in_balls(rows, seconds, coverage is None)
    gaps = np.concatenate([part.wide_gaps() for part in rows])
    narrow = np.concatenate([part.how_near_narrow() for part in rows])
    violations = [*wrong, *(each for part in rows for each in part.violations)]
    return Verification(
        promise=promise,
        n_violations=len(wrong) + sum(part.n_violated for part in rows),
        violations=tuple(violations),
        n_checks=sum(part.n_checks for part in rows) + (0 if coverage is None else coverage.n_scores),
        n_retrainings=work.n_done,
        n_aimed=work.n_aimed,
        closest=float(gaps.min()) if len(gaps) else np.nan,
        median_reached=max(0.0, float(np.median(1.0 - gaps.sum(axis=1)))) if len(gaps) else np.nan,
        n_narrow=len(narrow),
        narrow_error=float(narrow.max()) if len(narrow) else np.nan,
        n_rows=sum(len(part.bounds) for part in rows),
        n_proved=n_proved,
        n_in_balls=n_in_balls,
        coverage=coverage,
        seconds=time.perf_counter() - start,
        seed=int(random_state),
        digest=_digest(rows),
    )


def check_can_verify(model: Any) -> None:
    """Raise an error for what is no fitted model with bounds, or one whose imputer is not part of it."""
    if not hasattr(model, "hole_ranges_") or not hasattr(model, "certificate_"):
        raise IpubError(
            f"verify takes a fitted BoundedClassifier or BoundedRegressor, not a {type(model).__name__}: of a "
            "pipeline, give the last step and the table that it was fitted on."
        )
    if model.certificate_ is None:
        raise IpubError("The model was fitted with certificate=None, which proves no bounds: nothing to verify.")
    if isinstance(model.uncertainty, Draws) and not knows_law(model):
        raise IpubError(
            f"The imputer {model.uncertainty.name} of the draws is not part of a model file: give verify the estimator "
            "that was fitted."
        )


class _Work:
    """How many models were trained, and whether that is enough."""

    def __init__(self, deadline: float, most: int | None) -> None:
        self._start, self._deadline, self._most = time.perf_counter(), deadline, most
        self.n_done = self.n_aimed = 0

    def count(self, is_aimed: bool) -> None:
        self.n_done += 1
        self.n_aimed += is_aimed

    @property
    def is_over(self) -> bool:
        return time.perf_counter() >= self._deadline or (self._most is not None and self.n_done >= self._most)

    @property
    def fraction(self) -> float:
        whole = max(1e-9, self._deadline - self._start)
        done = (time.perf_counter() - self._start) / whole
        return min(1.0, max(done, 0.0 if self._most is None else self.n_done / max(1, self._most)))


def _attack(rows: list[CheckedRows], rng: np.random.Generator, work: _Work, report: Callable[[float], None]) -> None:
    """Retrain and compare until the time, or the number of retrainings, is over."""
    for part in rows:
        _Retrain(part, work, is_aimed=False)(base_filling(part.claim, rng))
    for part, row, side in _goals(rows, rng):
        if work.is_over:
            break
        report(work.fraction)
        X = part.ends(part.last.w)[int(side > 0.0)]
        before = work.n_done
        for _ in attempts(part.claim, Goal(X[row], side), rng, _Retrain(part, work, is_aimed=True)):
            if work.is_over:
                break
        for _ in range(work.n_done - before):
            if work.is_over:
                break
            _Retrain(part, work, is_aimed=False)(random_filling(part.claim, rng))
    report(1.0)


def _goals(rows: list[CheckedRows], rng: np.random.Generator) -> Iterator[tuple[CheckedRows, int, float]]:
    """Yield rows and sides in random order, again and again."""
    while any(len(part.bounds) for part in rows):
        every = [(part, row, side) for part in rows for row in range(len(part.bounds)) for side in (-1.0, 1.0)]
        for k in rng.permutation(len(every)):
            yield every[k]


class _Retrain:
    """Trains on a filling, and compares the model with the bounds."""

    def __init__(self, rows: CheckedRows, work: _Work, is_aimed: bool) -> None:
        self._rows, self._work, self._is_aimed = rows, work, is_aimed

    def __call__(self, filling: Filling) -> Model:
        """Return the model of a filling."""
        rows = self._rows
        model = train(rows.claim.filled(filling), rows.claim.objective, None if rows.last is None else rows.last.w)
        if np.isfinite(model.error):
            rows.last = model
        self._work.count(self._is_aimed)
        rows.check(filling, model)
        return model


def _simulated(
    model: Any,
    given: Given,
    rows: list[CheckedRows],
    rng: np.random.Generator,
    work: _Work,
    report: Callable[[float], None],
) -> Coverage:
    simulation = Simulation(model, given, rows, rng)
    while not work.is_over:
        simulation.step(work.count)
        report(work.fraction)
    report(1.0)
    return simulation.coverage()


def _in_balls(rows: list[CheckedRows], seconds: float, has_near: bool) -> tuple[int | None, int | None]:
    """Prove again what came closest, and small tables as a whole; None for what cannot be done."""
    if not ball_proofs.is_installed():
        return None, None
    n_in_balls, proved = 0, []
    deadline = time.perf_counter() + FOR_PROOFS * seconds
    for part in rows if has_near else ():
        for near in part.nearest() if part.claim.table.size <= ball_proofs.MOST_CELLS else ():
            ends = ball_proofs.prove_near_miss(part, near)
            if ends is not None and time.perf_counter() < deadline:
                n_in_balls += 1
                part.compare(near, ends)
        proved.append(ball_proofs.prove_all_fillings(part, lambda: time.perf_counter() >= deadline))
    known = [each for each in proved if each is not None]
    return n_in_balls, sum(map(len, known)) if known else None


def _promise(model: Any) -> str:
    certificate = model.certificate_
    return str((certificate[0] if isinstance(certificate, tuple) else certificate).promise)


def _wrong_counts(claim: Claim, promise: str) -> list[Violation]:
    """Return what the sentence of a budget counts otherwise than its parameters."""
    found, limits = promised_counts(promise), claim.limits._asdict()
    wrong = [name for name, count in found.items() if name in limits and limits[name] != count]
    return [
        Violation(
            f"the promise says {found[name]:,} {name.replace('_', ' ')}, and the budget is {limits[name]:,}",
            (np.nan, np.nan),
            (np.nan, np.nan),
        )
        for name in wrong
    ]


def _digest(rows: list[CheckedRows]) -> str:
    """Return the SHA-256 of the training table, its labels and weights, the rows and their bounds."""
    found = hashlib.sha256()
    for part in rows:
        arrays: list[Array] = [part.claim.table, part.claim.base.y, part.claim.base.weight, *part.cells, part.bounds]
        for array in arrays:
            found.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return found.hexdigest()
