"""What is promised where any filling is too much to ask: the largest budget that keeps most predictions."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.base import clone, is_classifier

from ipub.app.advice import Change, Lever, SameCommand, Trials, stronger, with_alpha
from ipub.app.predictions import FEW_CERTAIN, how_many, median_width, percent, sampled_predictions, share_certain
from ipub.app.screen import say, say_command, working
from ipub.errors import IpubError
from ipub.estimators.safe_budget import NARROW, SafeBudget, largest_safe_budget
from ipub.promises import Budget

FEW_CELLS, MANY_MORE = 0.01, 3
"""Where less than this share of the missing values may differ, a stronger penalty is tried under which at least so many
times as many may."""
OWN_HOLES = 0.05
"""From this share of predictions on that no budget makes certain, the screen says why."""
MOST_SECONDS = 8.0
"""Half of it, or of the seconds that the fit took, is for the bounds of all rows under the budget."""
SMOOTH = {"hinge": "smoothed_hinge"}
"""Losses for which budgets are not proved, and what is tried instead."""


class Found(NamedTuple):
    """A budget that keeps most predictions, and what else had to change for it."""

    changes: tuple[Change, ...]
    budget: SafeBudget


def show_budget(trials: Trials, columns: dict[str, Any], command: SameCommand, target: str) -> Found | None:
    """Say how many missing values may differ while most predictions stay, if any may, and return that.

    `columns` are the predictions that the screen speaks of.
    """
    given = trials.estimator.uncertainty
    if trials.table.is_streamed or not (given == "worst" or (isinstance(given, Budget) and not given.wrong_cells)):
        return None
    with warnings.catch_warnings(), working("Looking for the largest budget that keeps most predictions"):
        warnings.simplefilter("ignore")
        found = _found(trials)
        if found is None or (isinstance(given, Budget) and found.budget.cells >= given.count(found.budget.n_missing)):
            return None
        of_all = sampled_predictions(found.budget.model, trials.X, max(MOST_SECONDS, trials.seconds))
    if not _is_better(of_all, columns):
        return None
    kept, missing = found.budget.cells, found.budget.n_missing
    differ = "differs" if kept == 1 else "differ"
    condition = (
        f"as long as at most {kept:,} of the {missing:,} missing values ({100 * kept / missing:.2g} %) "
        f"{differ} from the filled-in ones (middle of the interval, most frequent category)"
    )
    start = f"With {_listed(trials, found.changes)}, for " if found.changes else "For "
    if share_certain(of_all) is not None:
        same = how_many(of_all["certain"].true_count, len(of_all["certain"]))
        say(f"{start}{same} the class stays the same {condition}.", "bold")
    else:
        size = f"{median_width(of_all):.4g} (the standard deviation of {target} is {np.std(trials.y):.4g})"
        start = f"{start}the predictions bounds" if found.changes else "Bounds"
        say(f"{start} have a median width of {size} {condition}.", "bold")
    open_share = 1.0 - found.budget.filled_in
    if is_classifier(trials.estimator) and open_share >= OWN_HOLES:
        say(f"About {100 * open_share:.0f} % are open however the table is filled: the row itself has missing values.")
    options = {name: value for change in found.changes for name, value in change.options.items()}
    say("To save a model with that promise:")
    say_command(command.with_options(**options, budget=str(kept)))
    return found


def _listed(trials: Trials, changes: tuple[Change, ...]) -> str:
    """Say what had to change, and what that does to the accuracy."""
    together = {name: value for change in changes for name, value in change.parameters.items()}
    accuracy = trials.accuracy(Change("", together, {})).removeprefix(", ")
    return " and ".join(change.words for change in changes) + (f" ({accuracy})" if accuracy else "")


def _found(trials: Trials) -> Found | None:
    """Return the largest budget with the fit's own parameters; if none is proved, with a loss or penalty that helps."""
    rows, base = trials.rows(), _of_loss(trials.estimator.loss)
    found = _search(trials, rows, base)
    if found is not None:
        return found
    for alpha in stronger(float(trials.estimator.alpha)):
        if not trials.has_time:
            return None
        found = _search(trials, rows, (*base, with_alpha(alpha)))
        if found is not None:
            return found
    return None


def larger_budget(trials: Trials, found: Found) -> Lever | None:
    """Return a stronger penalty under which many more missing values may differ, where few may."""
    cells, n = found.budget.cells, found.budget.n_missing
    if cells >= FEW_CELLS * n:
        return None
    changed = next((each.parameters["alpha"] for each in found.changes if "alpha" in each.parameters), None)
    for alpha in stronger(float(changed or trials.estimator.alpha))[:2]:
        if not trials.has_time:
            return None
        changes = (*(each for each in found.changes if "alpha" not in each.parameters), with_alpha(alpha))
        with warnings.catch_warnings(), working("Looking for a larger budget"):
            warnings.simplefilter("ignore")
            other = _search(trials, trials.rows(), changes)
        if other is not None and other.budget.cells >= MANY_MORE * cells and other.budget.share >= FEW_CERTAIN:
            kept, of = other.budget.cells, f"{100 * other.budget.cells / n:.2g} %"
            words = f"{' and '.join(each.words for each in changes)}, and at most {kept} missing values ({of}) differ"
            parameters = {name: value for each in changes for name, value in each.parameters.items()}
            options = {name: value for each in changes for name, value in each.options.items()}
            share = other.budget.share
            kind = "certain" if is_classifier(trials.estimator) else "with useful bounds"
            change = Change(words, parameters, {**options, "budget": str(kept)})
            return Lever(change, share, f"{percent(share)} {kind}")
    return None


def _of_loss(loss: str) -> tuple[Change, ...]:
    """Return the change to a loss of which budgets are proved."""
    smooth = SMOOTH.get(loss)
    return () if smooth is None else (Change(f"--loss {smooth}", {"loss": smooth}, {"loss": smooth}),)


def _search(trials: Trials, rows: pa.Table, changes: tuple[Change, ...]) -> Found | None:
    parameters = {name: value for change in changes for name, value in change.parameters.items()}
    estimator = clone(trials.estimator).set_params(**parameters)
    try:
        found = largest_safe_budget(estimator, trials.X, trials.y, rows)
    except IpubError:  # the table is not filled in memory, or more than its holes is uncertain
        return None
    return None if found is None or found.share < found.filled_in / 2.0 else Found(changes, found)


def _is_better(columns: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether a budget makes predictions certain that are not, or bounds useful that are not."""
    share, before = share_certain(columns), share_certain(now)
    if share is None or before is None:
        return median_width(columns) < median_width(now)
    return share > before


def is_wide(columns: dict[str, Any], y: Any, few: float) -> bool:
    """Whether fewer predictions are certain than `few`, or bounds are wide beside the spread of the targets."""
    share = share_certain(columns)
    return bool(median_width(columns) > NARROW * np.std(y)) if share is None else share < few
