"""A long table with few holes at a weak penalty: what a certified fit costs, and how wide its bounds are.

100,000 rows and 28 columns of a normal distribution, labels of a logistic model, one cell in a thousand missing,
columns scaled, an intercept, default intervals, certificate `tight`, penalty 1e-4. *Width*: median, over 40 rows that
are asked for, of certified over attained width, with what `tight` gives for so few rows, and with what it gives where
more rows are asked for at once than have row sums. Times are of the processor, all threads together, as many as by
default, medians of three; *plain fits*: over scikit-learn's `LogisticRegression` with the same penalty on the
filled-in, scaled table.
"""

from __future__ import annotations

import time

import numpy as np
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from benchmarks.lines import Lines
from benchmarks.timing import medians
from ipub import BoundedClassifier
from ipub.certificates import RowSumBounds

N, D, SHARE, ALPHA, ASKED, REPEATS = 100_000, 28, 0.001, 1e-4, 40, 3
TARGET, PLAIN_TARGET = 1.15, 12.0


def run(console: Console) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(N, D)), rng.normal(size=D) * 1.5 / np.sqrt(D)
    y = rng.random(N) < 1.0 / (1.0 + np.exp(-X @ w))
    asked = rng.normal(size=(ASKED, D))
    X[rng.random(X.shape) < SHARE] = np.nan
    filled = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    model = BoundedClassifier(alpha=ALPHA, scale="standard")
    model.fit(X, y)
    plain, fit, bounds = medians(
        REPEATS,
        lambda: LogisticRegression(C=1.0 / (ALPHA * N)).fit(filled, y),
        lambda: model.fit(X, y),
        lambda: model.decision_bounds(asked),
        clock=time.process_time,
    )
    by_rows = model.certificate_.part(RowSumBounds)
    assert by_rows is not None
    attained = np.ptp(model.attained_bounds(asked), axis=1)
    many = np.concatenate([asked, np.repeat(asked[:1], by_rows.most_rows or 0, axis=0)])
    few_ratio, many_ratio = (
        float(np.median(np.ptp(model.decision_bounds(rows)[:ASKED], axis=1) / attained)) for rows in (asked, many)
    )
    title = f"{N:,} x {D}, {int(np.isnan(X).sum()):,} missing cells, alpha {ALPHA:g}"
    lines = Lines(console, title, "plain s", "fit s", "plain fits", "target", "a row ms", "width", "target", "of many")
    lines.add(
        f"{plain:.2f}",
        f"{fit:.2f}",
        f"{fit / plain:.1f}",
        f"{PLAIN_TARGET:g}",
        f"{1e3 * bounds / ASKED:.1f}",
        f"{few_ratio:.3f}",
        f"{TARGET:g}",
        f"{many_ratio:.3f}",
    )
