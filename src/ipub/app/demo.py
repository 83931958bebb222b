"""The demo: which predictions the missing values of a real table can change, and what would settle them."""

from __future__ import annotations

import decimal
import statistics
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from ipub.answers.status import CERTAIN, OPEN, UNPROVED
from ipub.app.pictures import check_picture, save_picture
from ipub.app.screen import OUTWARD, new_table, out, say, working
from ipub.datasets import FEATURES, load_mammographic_masses
from ipub.estimators import BoundedClassifier
from ipub.plots import plot_bounds

TEST_ROWS = 150
SHOWN_CERTAIN, SHOWN_OTHERS = 4, 8
FOUND = 40
"""Missing values that are found in what would settle more."""
RETRAINED = 15
"""Rows for which fillings are looked for that push their score."""
REPEATS = 3
STRIP_WIDTH = 13
LEAST_WIDTH = 79
COLOURS = {CERTAIN: "blue", OPEN: "dark_orange", UNPROVED: "bright_black"}


def show_demo(output: Path, alpha: float, seed: int) -> None:
    """Train on all rows but a test set of complete ones, print which predictions are certain, and save a figure."""
    check_picture(output)
    X, y = load_mammographic_masses()
    complete = np.flatnonzero(~np.isnan(X).any(axis=1))
    test = np.sort(np.random.default_rng(seed).permutation(complete)[:TEST_ROWS])
    train = np.setdiff1d(np.arange(len(y)), test)
    classifier = BoundedClassifier(alpha=alpha, scale="standard").fit(X[train], y[train])
    n_missing = _say_what_it_is_about(classifier, X[train], X[test], y[test])
    with working("Bounds, and fillings that change classes"):
        bounds, status = classifier.predict_proba_bounds(X[test]), classifier.predict_status(X[test])
    probability = classifier.predict_proba(X[test])[:, 1]
    _say_how_many(status, test)
    _show_rows(X[test], test, probability, bounds, status)
    _say_what_would_settle(classifier, X[test], train, n_missing)
    _say_how_tight(classifier, X[test][:: max(1, len(test) // RETRAINED)])
    _say_what_it_costs(classifier, X[train], y[train], X[test], n_missing)
    _save_demo_figure(output, bounds, probability, status, n_missing)
    say("\nNext, with a table of yours: ipub fit TABLE.csv --target COLUMN", "bold")


def _say_what_it_is_about(classifier: BoundedClassifier, X: Any, X_test: Any, y_test: Any) -> int:
    """Say which table it is and what is missing in it; return how many values that are."""
    missing = np.isnan(X).sum(axis=0)
    by_column = ", ".join(f"{name} {count}" for name, count in zip(FEATURES, missing, strict=True))
    right = np.mean(classifier.predict(X_test) == y_test)
    say("Is this mass malignant? A model trained on a table with missing values", "bold")
    say(f"Training: {len(X)} patients. {missing.sum()} values are missing:\n{by_column}.")
    say("Each may be anything within the central 90 % of its column.")
    say(f"Test: {len(X_test)} other patients, nothing missing; {right:.0%} are predicted right.\n")
    return int(missing.sum())


def _say_how_many(status: NDArray[Any], test: NDArray[np.intp]) -> None:
    """Say how many predictions have which status, and which are not certain."""
    counts = {state: int((status == state).sum()) for state in COLOURS}
    width = len(str(len(status)))
    for state, words in {
        CERTAIN: f"of {len(status)} predictions certain: no filling changes the class (proved).",
        OPEN: "open: two fillings with different classes were found.",
        UNPROVED: "unproved: neither is known.",
    }.items():
        say(f"  {counts[state]:{width}} {words}", COLOURS[state] if counts[state] else "")
    rows = ", ".join(str(row + 1) for row in test[status == OPEN])
    if rows:
        say(textwrap.fill(f"Open rows: {rows}", 79, initial_indent="  ", subsequent_indent="  "))


def _show_rows(X: Any, test: Any, probability: Any, bounds: Any, status: NDArray[Any]) -> None:
    """Show some rows of each kind, spread over the range of predictions."""
    order = np.argsort(probability, kind="stable")
    kinds = order[status[order] == CERTAIN], order[status[order] != CERTAIN]
    chosen = np.concatenate(
        [
            kind[np.unique(np.linspace(0, len(kind) - 1, min(len(kind), most)).round().astype(int))]
            for kind, most in zip(kinds, (SHOWN_CERTAIN, SHOWN_OTHERS), strict=True)
        ]
    )
    say("\nSome of them, with the probability of malignant, bounded over all fillings:")
    strips = [f"0{'|':^{STRIP_WIDTH - 2}}1"] if out.width >= LEAST_WIDTH else []
    table = new_table("row", *FEATURES, "prob.", "lower", "upper", *strips, "class is", left=[*strips, "class is"])
    for i in chosen[np.argsort(probability[chosen], kind="stable")]:
        ends = [
            decimal.Decimal(end).quantize(decimal.Decimal("0.01"), rounding)
            for end, rounding in zip(bounds[i], OUTWARD.values(), strict=True)
        ]
        numbers = [*(f"{value:g}" for value in X[i]), *(f"{value:.2f}" for value in (probability[i], *ends))]
        drawn = [_strip(probability[i], *bounds[i])] if strips else []
        table.add_row(str(test[i] + 1), *numbers, *drawn, Text(status[i], COLOURS[status[i]]))
    out.print(table)


def _strip(value: float, low: float, high: float) -> str:
    """Draw an interval within [0, 1] as characters, the threshold as a bar."""
    first, here, last = (round(end * (STRIP_WIDTH - 1)) for end in (low, value, high))
    marks = ["-" if first <= k <= last else " " for k in range(STRIP_WIDTH)]
    marks[STRIP_WIDTH // 2] = "|"
    marks[here] = "o"
    return "".join(marks)


def _say_what_would_settle(classifier: BoundedClassifier, X: Any, train: NDArray[np.intp], n_missing: int) -> None:
    """Say which missing values to find first, and how many predictions that makes certain."""
    import narwhals.stable.v1 as nw

    with working("Which missing values to find"):
        plan = classifier.measurement_plan(X, budget=min(FOUND, n_missing))
    cells, curve = (nw.from_native(each, eager_only=True) for each in (plan.cells, plan.curve))
    gained = curve["certain_if_as_filled"][-1] - curve["certain_if_as_filled"][0]
    first = [
        f"{FEATURES[int(column)]} of row {train[int(row)] + 1}"
        for row, column in zip(cells["row"].to_list()[:3], cells["column"].to_list()[:3], strict=True)
    ]
    say(f"What would settle more? To find {len(cells)} of the {n_missing} missing values: if they are as")
    say(f"filled in now, {gained} more predictions are certain (proved). The first of them:")
    say(f"{', '.join(first)}.")


def _say_how_tight(classifier: BoundedClassifier, X: Any) -> None:
    """Say which part of the certified bounds retrained fillings attain."""
    with working("Retraining"):
        attained = classifier.attained_bounds(X)
    fraction = np.ptp(attained, axis=1) / np.ptp(classifier.decision_bounds(X), axis=1)
    say(f"How tight? Retrained fillings attain {np.median(fraction):.0%} of the width (median of {len(X)} rows).")


def _say_what_it_costs(classifier: BoundedClassifier, X: Any, y: Any, X_test: Any, n_missing: int) -> None:
    """Measure fit and bounds, and one plain training on the same table."""
    bounded = clone(classifier)
    filled = make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X)
    plain = LogisticRegression(C=1.0 / (len(y) * classifier.alpha_))
    jobs: Sequence[Callable[[], Any]] = [
        lambda: bounded.fit(X, y).predict_proba_bounds(X_test),
        lambda: plain.fit(filled, y),
    ]
    seconds: list[list[float]] = [[], []]
    # On so small a table threads slow both down, scikit-learn more: with one thread both are fastest.
    with threadpool_limits(1):
        for _ in range(REPEATS):
            for job, times in zip(jobs, seconds, strict=True):
                start = time.process_time()
                job()
                times.append(time.process_time() - start)
    ours, theirs = (statistics.median(times) for times in seconds)
    say(f"What does it cost? {ours:.2f} s of a processor, as long as {ours / theirs:.0f} plain trainings.")
    say(f"To try only both ends of the interval of each missing value would take 2^{n_missing}.")


def _save_demo_figure(output: Path, bounds: Any, probability: Any, status: Any, n_missing: int) -> None:
    given: Any = {"threshold": 0.5, "status": status, "quantity": "probability of malignant"}
    title = f"{len(bounds)} predictions of a model trained with {n_missing} missing values"
    try:
        save_picture(output, lambda: plot_bounds(bounds, probability, title=title, **given))
    except ImportError as error:
        say(f"No figure. {error}")
    else:
        say(f"Figure saved to {output}")
