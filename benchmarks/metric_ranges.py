"""Over what range metrics of test rows move, over all fillings: certified row by row, jointly, and attained.

The classification tables of `useful` of which at most 4 % of the cells are missing, with its split and preparation, at
the penalty of `alpha="1se"`. The test rows, at most 400, are filled in, so that the training table alone is uncertain.
*Row by row*: width of the range in which every row moves by itself, over that of the attained range, which
`score_range` found by fillings that push the metric. *Joint*: the same for what `score_range` certifies, all rows under
one filling; of a metric that no filling moves both widths are in brackets. *Plain fits*: processor time of one call
with this metric, its search included, over the median of nine trainings of scikit-learn's `LogisticRegression` with
the same penalty; *s*: in seconds.

Options: `--tables NAME,...`, `--rows N`, `--penalty min|1se`, `--split SEED`, `--scoring NAME,...`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.budgets import plain_seconds
from benchmarks.lines import Lines
from benchmarks.penalties import ONE_ERROR, add_rule, cross_validated
from benchmarks.real_tables import SOURCES, Source
from benchmarks.useful import NOT_USED, filled_in, parts, test_labels
from ipub import BoundedClassifier
from ipub.answers.metrics.known_metrics import metrics_of
from ipub.answers.metrics.labelled_rows import labels_as_numbers
from ipub.answers.metrics.ways import InBoxes

MOST_MISSING = 0.04
TEST_ROWS = 400
SCORING = ("accuracy", "f1", "roc_auc", "neg_log_loss", "neg_brier_score")
COLUMNS = ("table", "metric", "value", "lower", "upper", "row by row", "joint", "s", "plain fits")


def run(console: Console, options: Sequence[str] = ()) -> None:
    given = _options(options)
    known = {source.name: source for source in SOURCES if source.positive and source.name not in NOT_USED}
    unknown = set(given.tables) - set(known)
    if unknown:
        raise SystemExit(f"Unknown table(s) {', '.join(sorted(unknown))}; there are {', '.join(known)}.")
    lines = Lines(console, f"ranges of metrics, penalty {given.penalty}, split {given.split}", *COLUMNS)
    ratios: dict[str, list[list[float]]] = {name: [] for name in given.scoring}
    for name in sorted(known, key=lambda name: name == "adult"):
        if not given.tables or name in given.tables:
            for metric, found in lines.piece(name, partial(_measure, lines, known[name], given)):
                ratios[metric].append(found)
    for metric, found in ratios.items():
        if found:
            medians = (f"{each:.2f}" for each in np.median(found, axis=0))
            lines.add("median", metric, "", "", "", *medians, "", "")


def _options(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks metric_ranges")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[], metavar="NAME,...")
    parser.add_argument("--rows", type=int, default=TEST_ROWS, metavar="N", help="test rows of each table, at most")
    parser.add_argument("--split", type=int, default=0, metavar="SEED", help="which random split of each table")
    parser.add_argument("--scoring", type=lambda text: text.split(","), default=SCORING, metavar="NAME,...")
    add_rule(parser, ONE_ERROR)
    return parser.parse_args(options)


def _measure(lines: Lines, source: Source, given: argparse.Namespace) -> list[tuple[str, list[float]]]:
    """Return the ratios of each metric whose attained range has a width."""
    X, y, X_test = parts(source, given.split)
    if X.isna().to_numpy().mean() > MOST_MISSING:
        return []
    rows, labels = filled_in(X_test, X).iloc[: given.rows], test_labels(source, given.split)[: given.rows]
    alpha = cross_validated(BoundedClassifier(scale="standard"), X, y, given.penalty)
    found = []
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf, plain = BoundedClassifier(alpha=alpha, scale="standard").fit(X, y), plain_seconds(X, y, alpha)
        bounds = clf.decision_bounds(rows)
        boxes = InBoxes(bounds[:, 0], bounds[:, 1], labels_as_numbers(clf.training_, labels, len(rows)))
        for metric in metrics_of(clf.training_, given.scoring):
            start = time.process_time()
            joint = clf.score_range(rows, labels, metric.name)
            spent = time.process_time() - start
            alone = boxes.of_group(metric, np.arange(len(rows)))
            attained = joint.attained_upper - joint.attained_lower
            cells = [f"{each:.4f}" for each in (joint.value, joint.lower, joint.upper)]
            if attained > 1e-12:
                ratios = [(alone.upper - alone.lower) / attained, (joint.upper - joint.lower) / attained]
                found.append((metric.name, ratios))
                cells += [f"{each:.2f}" for each in ratios]
            else:
                cells += [f"({alone.upper - alone.lower:.2g})", f"({joint.upper - joint.lower:.2g})"]
            cells += [f"{spent:.2f}", f"{spent / plain:,.0f}"]
            lines.add(source.name[:24].ljust(24), metric.name.ljust(15), *cells)
    return found
