"""What is promised where few predictions are certain: with another setting any filling, else a budget, or draws."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from ipub.answers.shown_numbers import share_in_words
from ipub.app.advice import (
    NEARLY,
    NOTHING,
    Change,
    Lever,
    SameCommand,
    Trials,
    draws_in_time,
    says_one,
    stronger,
    with_alpha,
    with_dropped,
)
from ipub.app.predictions import (
    FEW_CERTAIN,
    how_many,
    median_width,
    only_certain_class,
    percent,
    sampled_predictions,
    share_certain,
)
from ipub.app.screen import say, say_command, working
from ipub.errors import IpubError
from ipub.estimators.fitted_state import as_saved
from ipub.estimators.promise_by_promise import CERTAIN_DRAWS
from ipub.estimators.safe_budget import NARROW, SafeBudget, largest_safe_budget
from ipub.promises import Budget

FEW_CELLS, MANY_MORE = 0.01, 3
"""Where less than this share of the missing values may differ, a stronger penalty is tried under which at least so many
times as many may."""
OWN_HOLES = 0.05
"""From this share of predictions on that no budget makes certain, the screen says why."""
MOST_SECONDS = 8.0
"""Half of it, or of the seconds that the fit took, is for the bounds of all rows under the budget."""
DRAWS_SECONDS = 30.0
"""Where no budget is proved, draws may take about so many seconds."""
SMOOTH = {"hinge": "smoothed_hinge"}
"""Losses for which budgets are not proved, and what is tried instead."""


class Found(NamedTuple):
    """A budget that keeps most predictions, and what else had to change for it."""

    change: Change
    budget: SafeBudget


class Offer(NamedTuple):
    """A promise that keeps most predictions, and what its model predicts for the rows that the screen speaks of."""

    change: Change
    columns: dict[str, Any]
    budget: SafeBudget | None = None
    lever: Lever | None = None

    @property
    def found(self) -> Found | None:
        """The budget, if it is one."""
        return None if self.budget is None else Found(self.change, self.budget)


def any_filling(trials: Trials, levers: list[Lever], rival: Offer | None) -> Offer | None:
    """Return a setting that promises any filling, if it does so for nearly as many predictions as a weaker promise.

    Its accuracy is nearly that of the `rival`; without one, of the fit, and most predictions are certain.
    """
    if trials.estimator.uncertainty != "worst":
        return None
    strong = [lever for lever in levers if not lever.change.assumes_more and not lever.says_majority]
    than = NOTHING if rival is None or "uncertainty" in rival.change.parameters else rival.change
    strong = [lever for lever in strong if trials.is_as_accurate(lever.change, than)]
    if not strong:
        return None
    most = max(lever.gain for lever in strong)
    lever = next(lever for lever in strong if lever.gain >= most - NEARLY)
    columns = trials.columns_of_all(lever.change, MOST_SECONDS)
    if columns is None or only_certain_class(columns, trials.y) is not None:
        return None
    enough = not is_wide(columns, trials.y, FEW_CERTAIN) if rival is None else _serves(columns, rival.columns)
    return Offer(lever.change, columns, lever=lever) if enough else None


def _serves(columns: dict[str, Any], others: dict[str, Any]) -> bool:
    share, other = share_certain(columns), share_certain(others)
    if share is None or other is None:
        return median_width(columns) <= median_width(others)
    return share >= other - NEARLY


def show_offer(trials: Trials, offer: Offer, command: SameCommand, target: str) -> None:
    """Say what is promised, for how many predictions, and the command that saves a model with it."""
    if offer.budget is not None:
        _show_budget(trials, offer, command, target)
    elif offer.lever is not None:
        _show_any_filling(trials, offer, command, target)
    else:
        _show_draws(trials, offer, command)


def _show_any_filling(trials: Trials, offer: Offer, command: SameCommand, target: str) -> None:
    change, columns, _, _ = offer
    accuracy = trials.accuracy(change).removeprefix(", ")
    start = f"{change.start()}{f' ({accuracy})' if accuracy else ''}, "
    if share_certain(columns) is not None:
        same = how_many(columns["certain"].true_count, len(columns["certain"]))
        say(f"{start}{same} are certain under any filling.", "bold")
    else:
        width, spread = f"{median_width(columns):.4g}", f"{np.std(trials.y):.4g}"
        say(
            f"{start}bounds under any filling have a median width of {width} (the standard deviation of {target} is "
            f"{spread}).",
            "bold",
        )
    say("To save that model:")
    say_command(command.with_options(**{**trials.options, **with_dropped(command, change)}))


def budget_offer(trials: Trials, columns: dict[str, Any]) -> Offer | None:
    """Return how many missing values may differ while most predictions stay, if any may.

    `columns` are the predictions that the screen speaks of.
    """
    given = trials.estimator.uncertainty
    is_of_holes = given == "worst" or (isinstance(given, Budget) and not given.has_more_than_holes)
    if trials.table.is_streamed or not is_of_holes:
        return None
    found = _found(trials)
    if found is None or (isinstance(given, Budget) and found.budget.cells >= given.count(found.budget.n_missing)):
        return None
    saved = as_saved(found.budget.model, trials.with_rows)
    of_all = sampled_predictions(saved, trials.X, max(MOST_SECONDS, trials.seconds))
    return Offer(found.change, of_all, found.budget) if _is_better(of_all, columns) else None


def _show_budget(trials: Trials, offer: Offer, command: SameCommand, target: str) -> None:
    change, of_all, budget, _ = offer
    assert budget is not None
    kept, missing, _, at_filled, _ = budget
    differ = "differs" if kept == 1 else "differ"
    condition = (
        f"as long as at most {kept:,} of the {missing:,} missing values ({share_in_words(kept / missing)}) {differ} "
        "from the filled-in ones (middle of the interval, most frequent category)"
    )
    accuracy = trials.accuracy(change).removeprefix(", ") if change.words else ""
    start = f"With {change.words}{f' ({accuracy})' if accuracy else ''}, " if change.words else ""
    if share_certain(of_all) is not None:
        same = how_many(of_all["certain"].true_count, len(of_all["certain"]))
        sentence = f"for {same} the class stays the same {condition}."
        if at_filled <= 1.0 - OWN_HOLES:
            sentence += (
                f" About {100 - 100 * at_filled:.0f} % are open in any case, as the row itself has missing values."
            )
    else:
        spread = f"{np.std(trials.y):.4g}"
        width = f"{median_width(of_all):.4g} (the standard deviation of {target} is {spread})"
        sentence = f"bounds have a median width of {width} {condition}."
    sentence = start + sentence
    say(sentence[0].upper() + sentence[1:], "bold")
    say("To save a model with that promise:")
    say_command(command.with_options(**{**trials.options, **change.options, "budget": str(kept)}))


def draws_offer(trials: Trials) -> Offer | None:
    """Return draws of an imputer, if they are affordable and make more predictions certain."""
    change = draws_in_time(trials, DRAWS_SECONDS) if is_classifier(trials.estimator) else None
    columns = None if change is None else trials.columns(change)
    if change is None or columns is None or says_one(columns) or not _is_better(columns, trials.now):
        return None
    return Offer(change, columns)


def _show_draws(trials: Trials, offer: Offer, command: SameCommand) -> None:
    change, columns, _, _ = offer
    certain, draws = columns["certain"], change.parameters["uncertainty"]
    n_classes = len(np.unique(trials.y))
    same = how_many(certain.true_count, len(certain))
    say(f"For {same} the class stays the same under all of {CERTAIN_DRAWS} fillings that an imputer draws.", "bold")
    say(draws.promise_for(n_classes if n_classes > 2 else 1, is_of_classes=True))
    say("To save a model with that promise:")
    say_command(command.with_options(**{**trials.options, **change.options}))


def _found(trials: Trials) -> Found | None:
    """Return the largest budget with the fit's own parameters; if none is proved, with a loss or penalty that helps."""
    change = _loss(trials)
    found, alphas = _search(trials, change), iter(stronger(float(trials.estimator.alpha)))
    while found is not None and not _is_enough(found):
        alpha = next(alphas, None)
        if alpha is None or not trials.has_time:
            return None
        found = _search(trials, with_alpha(alpha, change))
    return found


def larger_budget(trials: Trials, found: Found) -> Lever | None:
    """Return a stronger penalty under which many more missing values may differ, where few may."""
    cells, n = found.budget.cells, found.budget.n_missing
    if cells >= FEW_CELLS * n or not trials.with_rows:
        return None
    for alpha in stronger(float(found.budget.model.alpha))[:2]:
        other = _search(trials, with_alpha(alpha, _loss(trials))) if trials.has_time else None
        if other is None:
            return None
        change, (kept, _, share, _, _) = other
        if kept >= MANY_MORE * cells and share >= FEW_CERTAIN:
            words = f"{change.words}, and at most {kept} missing values ({share_in_words(kept / n)}) differ"
            kind = "certain" if is_classifier(trials.estimator) else "with useful bounds"
            options = {**change.options, "budget": str(kept)}
            return Lever(change._replace(words=words, options=options), share, f"{percent(share)} {kind}")
    return None


def _loss(trials: Trials) -> Change:
    """Return the change to a loss of which budgets are proved."""
    loss = SMOOTH.get(trials.estimator.loss)
    return NOTHING if loss is None else Change(f"--loss {loss}", {"loss": loss}, {"loss": loss})


def _is_enough(found: Found) -> bool:
    return found.budget.cells > 0 and found.budget.share >= found.budget.filled_in / 2.0


def _search(trials: Trials, change: Change) -> Found | None:
    """Return the largest budget with something changed; None if budgets are not proved there at all."""
    with warnings.catch_warnings(), working("Looking for the largest budget that keeps most predictions"):
        warnings.simplefilter("ignore")
        estimator = clone(trials.estimator).set_params(**change.parameters)
        try:
            found = largest_safe_budget(estimator, trials.X, trials.y, trials.rows())
        except IpubError:  # more than its holes is uncertain
            return None
    return None if found is None else Found(change, found)


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
