"""What `ipub fit` says: holes, training, how many predictions are certain, and what makes bounds narrower."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.text import Text
from sklearn.base import is_classifier

from ipub.app.advice import Fit, SameCommand, Trials, column_shares, show_levers, tried_levers
from ipub.app.budgets import any_filling, budget_offer, draws_offer, is_wide, larger_budget, show_offer
from ipub.app.files import tables
from ipub.app.penalty_screen import penalty_sentence, show_penalty
from ipub.app.predictions import (
    FEW_CERTAIN,
    median_width,
    only_certain_class,
    promise_of,
    sampled_predictions,
    say_promise,
    summary_of,
)
from ipub.app.screen import new_table, note, out, say
from ipub.app.training_tables import TrainingTable
from ipub.estimators.fitted_state import keeps_training_rows
from ipub.tables.conditional_intervals import IntervalReport

LARGE_COLUMN = 10.0
"""Greatest size of an unscaled column that causes no advice to scale."""


def show_holes(estimator: Any, table: TrainingTable) -> None:
    """Show where the missing cells are, and in which intervals they are taken to lie."""
    total = sum(table.holes.values())
    if not total:
        say("Holes: none, so the width of the bounds is the error of training alone")
        return
    encoder, ranges = estimator.encoder_, estimator.hole_ranges_
    names = table.X.column_names if encoder is None else encoder.names_of_numbers
    found = dict(zip(names, ranges if encoder is None else ranges[encoder.numbers], strict=True))
    report = estimator.interval_report_
    rules = {} if report is None else dict(zip(report.columns, report.rules, strict=True))
    say(f"Holes: {total} cells in {table.n_holed} rows, taken to lie in these intervals")
    shown = new_table("column", "holes", "from", "to", left=["column"])
    for name, count in table.holes.items():
        if count:
            if rules.get(name) == "conditional":
                ends = ["by its", "row"]
            else:
                ends = [f"{end:.6g}" for end in found[name]] if name in found else ["any", "category"]
            shown.add_row(Text(name), str(count), *ends)
    out.print(shown)
    if report is not None:
        _show_coverage(report)
    if table.is_streamed and (estimator.intervals.kind == "quantile" or isinstance(estimator.intervals.kind, dict)):
        say("Quantiles are exact: those of all rows, not of a sample")


def _show_coverage(report: IntervalReport) -> None:
    """Show how intervals by the other values of a row did on observed cells that were held out."""
    shown = new_table("column", "coverage", "width", "quantile width", left=["column"])
    for name, _, rule, *cells in report.cells():
        if rule == "conditional":
            shown.add_row(Text(name), *cells)
    if shown.row_count:
        say(f"Intervals by the other values of each row. {report.sentence()}")
        out.print(shown)


def show_training(fit: Fit, command: SameCommand, target: str, answer: dict[str, Any], *, tries_more: bool) -> None:
    """Say how many predictions are certain, and if few are, what else is promised and what would make more so.

    The last takes time, and is left out without `tries_more`. The numbers are put into `answer`.
    """
    estimator, table, seconds, saved, with_rows = fit
    say(penalty_sentence(estimator))
    if estimator.scale is None:
        _advise_on_scale(table.X)
    if estimator.certificate_ is None:
        show_penalty(estimator, table, seconds, None, with_rows)
        say("No bounds, as --certificate none asks for: the model predicts only")
        return
    columns = sampled_predictions(saved, table.X, seconds)
    answer["training_rows_looked_at"] = len(columns["prediction"])
    if "certain" in columns:
        answer["certain"] = columns["certain"].true_count
    answer["median_width"] = median_width(columns)
    answer["promise"] = promise_of(saved)
    show_penalty(estimator, table, seconds, columns, with_rows)
    n = len(columns["prediction"])
    which = (
        "On the training rows" if n == table.n_rows else f"On {n} of the {table.n_rows} training rows, drawn at random"
    )
    say()
    spread = "" if is_classifier(estimator) else f"; the standard deviation of {target} is {np.std(table.y):.4g}"
    say(f"{which}: {summary_of(columns)}{spread}", "bold")
    say_promise(saved)
    _warn_of_one_class(columns, table.y)
    if tries_more and table.n_holed and is_wide(columns, table.y, FEW_CERTAIN):
        _show_what_helps(fit, columns, command, target)


def _show_what_helps(fit: Fit, columns: dict[str, Any], command: SameCommand, target: str) -> None:
    """Say the strongest promise that keeps most predictions, which columns are the reason, and what can be done.

    Any filling, with another setting, is stronger than a budget, and that than draws.
    """
    table = fit.table
    shares = column_shares(fit.estimator, table.X)
    named = list(shares) or sorted((name for name in table.holes if table.holes[name]), key=lambda k: -table.holes[k])
    levers, offer = [], None
    if not table.is_streamed:
        trials = Trials(fit, columns)
        offer = budget_offer(trials, columns)
        first = None if offer is None or offer.found is None else larger_budget(trials, offer.found)
        offer = draws_offer(Trials(fit, columns)) if offer is None else offer
        trials = Trials(fit, columns)
        is_drawn = offer is not None and offer.budget is None
        levers = tried_levers(trials, named, first, tries_draws=not is_drawn)
        offer = any_filling(trials, levers, offer) or offer
        if offer is not None:
            show_offer(trials, offer, command, target)
    if shares:
        listed = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in shares.items())
        say(f"Missing values in these columns cause most of the width, by a first estimate: {listed}")
    if not table.is_streamed:
        show_levers(trials, command, named, levers, None if offer is None else offer.lever)


def say_what_is_kept(saved: Any) -> None:
    """Say whether the model file holds training rows, and how to leave them out."""
    if keeps_training_rows(saved.certificate_):
        say("The model file holds training rows, which its bounds need; --without-rows leaves them out")
    else:
        say("The model file holds no training rows")


def _warn_of_one_class(columns: dict[str, Any], y: NDArray[Any]) -> None:
    """Warn if certain predictions are all of the most frequent class: then they say little."""
    majority = only_certain_class(columns, y)
    if majority is None:
        return
    if len(columns["prediction"].unique()) == 1:
        note(
            f"Every prediction is {majority}, the most frequent class: certain means no more than that here. A smaller "
            "--alpha may tell the classes apart."
        )
    else:
        note(f"Every certain prediction is {majority}, the most frequent class; all others are open.")


def _advise_on_scale(X: pa.Table) -> None:
    numbers = tables.numbers_of(X)
    sizes = np.nanmax(np.abs(tables.floats_of(numbers)), axis=0, initial=0.0)
    if sizes.max(initial=0.0) > LARGE_COLUMN:
        name = numbers.column_names[int(sizes.argmax())]
        note(f"Bounds widen with the size of the columns ({name} goes up to {sizes.max():g}): try --scale standard.")
