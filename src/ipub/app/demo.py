"""The demo: which predictions the missing cells of a real table can change."""

from __future__ import annotations

import decimal
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

from ipub.answers.certainty import is_certain
from ipub.app.files.atomic import FileError, check_folder, whole_file
from ipub.app.screen import OUTWARD, new_table, out, say, working
from ipub.datasets import FEATURES, load_mammographic_masses
from ipub.estimators import BoundedClassifier
from ipub.plots import plot_bounds

TEST_ROWS = 150
SHOWN_ROWS = 12
REPEATS = 5
STRIP_WIDTH = 17
LEAST_WIDTH = 79


def show_demo(output: Path, alpha: float, seed: int) -> None:
    """Train on all rows but a test set of complete ones, print which predictions are certain, and save a figure."""
    check_folder(output)
    _check_picture(output)
    X, y = load_mammographic_masses()
    complete = np.flatnonzero(~np.isnan(X).any(axis=1))
    is_test = np.zeros(len(y), dtype=bool)
    is_test[np.random.default_rng(seed).permutation(complete)[:TEST_ROWS]] = True
    model = make_pipeline(MinMaxScaler((-1, 1)), BoundedClassifier(alpha=alpha, intervals="observed"))
    model.fit(X[~is_test], y[~is_test])
    classifier, test = model[-1], model[:-1].transform(X[is_test])
    probability, bounds = classifier.predict_proba(test)[:, 1], classifier.predict_proba_bounds(test)
    certain = is_certain(classifier.decision_bounds(test))
    holes = np.isnan(X[~is_test])
    by_column = ", ".join(f"{name} {count}" for name, count in zip(FEATURES, holes.sum(axis=0), strict=True))
    right = np.mean(classifier.predict(test) == y[is_test])
    say("Mammographic masses, benign or malignant: a real table with real holes", "bold")
    say(f"Training: {(~is_test).sum()} rows, {X.shape[1]} features scaled to [-1, 1], alpha {alpha:g}")
    say(f"Holes: {holes.sum()} cells ({by_column});")
    say("each may be anything between the least and the greatest value of its column")
    say(f"Test: {is_test.sum()} complete rows, {right:.0%} predicted right")
    say("\nProbability of malignant, with bounds that hold however the holes are filled:")
    _show_demo_rows(X[is_test], probability, bounds, certain)
    say(
        f"{certain.sum()} of {len(certain)} test predictions are certain: no filling of the holes changes them.", "bold"
    )
    say(f"The other {(~certain).sum()} are open: there the missing cells may decide the class.")
    _show_attained(classifier, test)
    _show_times(classifier, model[:-1].transform(X[~is_test]), y[~is_test], test)
    _save_demo_figure(output, bounds, probability, int(holes.sum()))
    say("\nNext: ipub fit your_table.csv --target COLUMN", "bold")


def _check_picture(output: Path) -> None:
    """Raise an error, before any work is done, for a suffix that is no format of pictures."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:  # there will be no picture
        return
    known = FigureCanvasBase.get_supported_filetypes()
    if _picture_format(output) not in known:
        raise FileError(f"{output} has the suffix {output.suffix!r}: use .png, .pdf or .svg.")


def _picture_format(output: Path) -> str:
    return output.suffix.lstrip(".").lower() or "png"


def _show_attained(classifier: BoundedClassifier, test: Any) -> None:
    """Say which part of the certified bounds retrained fillings attain."""
    with working("Retraining"):
        attained = classifier.attained_bounds(test)
    fraction = np.ptp(attained, axis=1) / np.ptp(classifier.decision_bounds(test), axis=1)
    changed = int(((attained[:, 0] < 0.0) & (attained[:, 1] > 0.0)).sum())
    say(f"For {changed} of these, retraining found a filling that does change it.")
    say(f"Such fillings reach over {np.median(fraction):.0%} of the width of the bounds (median):")
    say("none could be narrower than that.\n")


def _show_demo_rows(X: NDArray[np.float64], probability: Any, bounds: Any, certain: NDArray[np.bool_]) -> None:
    """Show rows of both kinds, spread over the range of predictions."""
    order = np.argsort(probability, kind="stable")
    kinds = order[certain[order]], order[~certain[order]]
    picked = []
    for kind, other in (kinds, kinds[::-1]):
        fraction = min(len(kind), max(SHOWN_ROWS // 2, SHOWN_ROWS - len(other)))
        picked.append(kind[np.linspace(0, len(kind) - 1, fraction).round().astype(int)])
    chosen = np.concatenate(picked)
    strips = [f"0{'|':^{STRIP_WIDTH - 2}}1"] if out.width >= LEAST_WIDTH else []
    table = new_table(*FEATURES, "prob.", "lower", "upper", *strips, "class is", left=[*strips, "class is"])
    for i in chosen[np.argsort(probability[chosen], kind="stable")]:
        ends = [
            decimal.Decimal(end).quantize(decimal.Decimal("0.001"), rounding)
            for end, rounding in zip(bounds[i], OUTWARD.values(), strict=True)
        ]
        numbers = [*(f"{value:g}" for value in X[i]), *(f"{value:.3f}" for value in (probability[i], *ends))]
        drawn = [_strip(probability[i], *bounds[i])] if strips else []
        table.add_row(*numbers, *drawn, Text("certain", "green") if certain[i] else Text("open", "yellow"))
    out.print(table)


def _strip(value: float, low: float, high: float) -> str:
    """Draw an interval within [0, 1] as characters, the threshold as a bar."""
    first, here, last = (round(end * (STRIP_WIDTH - 1)) for end in (low, value, high))
    marks = ["-" if first <= k <= last else " " for k in range(STRIP_WIDTH)]
    marks[STRIP_WIDTH // 2] = "|"
    marks[here] = "o"
    return "".join(marks)


def _show_times(bounded: BoundedClassifier, X: Any, y: Any, test: Any) -> None:
    """Measure fit and bounds against one plain training, in turns, on the same scaled table."""
    filled = SimpleImputer().fit_transform(X)
    plain = LogisticRegression(C=1.0 / (len(y) * bounded.alpha_))
    jobs: Sequence[Callable[[], Any]] = [
        lambda: bounded.fit(X, y).predict_proba_bounds(test),
        lambda: plain.fit(filled, y),
    ]
    seconds: list[list[float]] = [[], []]
    # On so small a table threads slow both down, scikit-learn more: with one thread both are fastest.
    with threadpool_limits(1):
        for _ in range(REPEATS):
            for job, times in zip(jobs, seconds, strict=True):
                start = time.perf_counter()
                job()
                times.append(time.perf_counter() - start)
    ours, theirs = (statistics.median(times) for times in seconds)
    say(f"Training with the bounds of all test rows: {1e3 * ours:.1f} ms, {ours / theirs:.1f} times as long as")
    say(f"LogisticRegression on the mean-filled table, without bounds ({1e3 * theirs:.1f} ms).")


def _save_demo_figure(output: Path, bounds: Any, probability: Any, n_holes: int) -> None:
    title = f"{len(bounds)} test rows; {n_holes} cells of the training table are missing"
    try:
        axes = plot_bounds(bounds, probability, threshold=0.5, quantity="probability of malignant", title=title)
    except ImportError as error:
        say(f"No figure. {error}")
    else:
        figure: Any = axes.figure
        with whole_file(output) as file:
            figure.savefig(file, format=_picture_format(output))
        say(f"Figure saved to {output}")
