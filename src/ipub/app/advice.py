"""What helps where few predictions are certain: each lever is tried before it is offered, with what it gives."""

from __future__ import annotations

import shlex
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from ipub.answers.column_effects import first_order_widths
from ipub.app.files import tables
from ipub.app.files.reading import current_reading
from ipub.app.held_out_rows import N_FOLDS, held_out
from ipub.app.predictions import (
    FEW_CERTAIN,
    median_width,
    only_certain_class,
    percent,
    sampled_predictions,
    share_certain,
)
from ipub.app.screen import say, say_command, working
from ipub.app.training_tables import TrainingTable
from ipub.errors import IpubError
from ipub.estimators.fitted_state import as_saved
from ipub.estimators.promise_by_promise import CERTAIN_DRAWS, PROBED_DRAWS
from ipub.promises import Draws

EFFECT_ROWS, TRIED_ROWS = 25, 100
"""Training rows over which the effects of columns are averaged, and that are bounded to try something."""
SHOWN_COLUMNS, LEAST_SHARE = 3, 0.05
"""So many columns are named, and only those with this share of the width."""
MOST_LEVERS = 4
"""Levers that are offered, at most."""
MORE_CERTAIN, LESS_WIDE = 0.2, 0.8
"""A lever must make so many more predictions certain, or in a regression bounds at most so many times as wide, and no
wider than a standard deviation of the targets."""
PATIENCE, OF_FIT, MOST_PATIENCE = 5.0, 6.0, 30.0
"""Seconds for which levers are tried: at least the first, and so many times what the fit took up to the last."""
TRIAL_SECONDS = 4.0
"""Half of it, or of the seconds that the fit took, is for the bounds of a trial."""
MOST_ALPHA = 3.2
"""Strongest penalty that is tried, unless that of the fit is stronger: of scaled columns little is left beyond."""
NEARLY, AS_ACCURATE = 0.02, 0.01
"""A promise serves as well with so many fewer certain predictions, and so much less accuracy (of an error, in
proportion)."""


class SameCommand:
    """The command that is running, with some options changed: for advice that can be copied."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def given(self, name: str) -> Any:
        """Return the value of an option that was given; None if it was left out."""
        is_given = self.context.get_parameter_source(name).name == "COMMANDLINE"
        return self.context.params[name] if is_given else None

    def with_options(self, **changes: Any) -> str:
        """Return the command with other values of some options; its draws are not those of this command."""
        if self.context.params.get("draws"):
            changes = {"seed": self.context.params["seed"] + 1, **changes}
        words = ["ipub", self.context.info_name]
        for parameter in self.context.command.params:
            value = changes.get(parameter.name, self.given(parameter.name))
            for each in value if isinstance(value, list | tuple) else [value]:
                if parameter.param_type_name == "argument":
                    words.append(str(each))
                elif each is not None and each is not False:
                    words += [parameter.opts[0]] if each is True else [parameter.opts[0], str(each)]
        return shlex.join([*words, *current_reading().words()])


class Fit(NamedTuple):
    """A fitted BoundedClassifier or BoundedRegressor, its training table, and how long training and certifying took."""

    estimator: Any
    table: TrainingTable
    seconds: float
    saved: Any
    """The estimator as the model file gives it back."""
    with_rows: bool
    """Whether that file may hold training rows."""


class Change(NamedTuple):
    """What a lever changes."""

    words: str
    parameters: dict[str, Any]
    """Of the estimator."""
    options: dict[str, Any]
    """Of the command."""
    dropped: str = ""
    """A column that is left out."""

    @property
    def assumes_more(self) -> bool:
        """Whether less is promised: narrower intervals, a budget or draws."""
        weaker = "intervals", "uncertainty"
        return "budget" in self.options or any(name.startswith(weaker) for name in self.parameters)

    def start(self) -> str:
        """Return the words as a sentence begins with them."""
        return self.words.capitalize() if self.dropped else f"With {self.words}"


NOTHING = Change("", {}, {})


class Lever(NamedTuple):
    """What was tried, and what it gives."""

    change: Change
    gain: float
    """Share of certain predictions; in a regression, how many times narrower bounds are."""
    words: str
    says_majority: bool = False
    """Whether all certain predictions are of the most frequent class."""


class Trials:
    """Fits with one setting changed, to see what it gives, for as long as there is time."""

    def __init__(self, fit: Fit, columns: dict[str, Any]) -> None:
        self.table, self.seconds, self.with_rows = fit.table, fit.seconds, fit.with_rows
        self.estimator = clone(fit.estimator).set_params(alpha=fit.estimator.alpha_, verbose=0)
        self.X, self.y = self.table.X, self.table.y
        self.drawn = np.random.default_rng(0).permutation(self.X.num_rows)[:TRIED_ROWS]
        self.now = {name: part.slice(0, TRIED_ROWS) for name, part in columns.items()}
        """What the fit gives for the first of these rows."""
        self.end = time.perf_counter() + max(PATIENCE, min(OF_FIT * self.seconds, MOST_PATIENCE))
        is_picked = isinstance(fit.estimator.alpha, str)
        self.options = {"alpha": f"{fit.estimator.alpha_:g}"} if is_picked else {}
        """Of every command that is offered: with something else changed another penalty might be picked."""
        self.n_tried = 0
        self._held_out: dict[str, float] = {}

    @property
    def has_time(self) -> bool:
        """Whether there is time for another trial."""
        return time.perf_counter() < self.end

    def rows(self) -> pa.Table:
        """Return the rows that are bounded to try something."""
        return self.X.take(self.drawn)

    def columns(self, change: Change) -> dict[str, Any] | None:
        """Return the predictions of these rows by a fit with something changed; None without time."""
        return self._predictions(change, self.drawn, TRIAL_SECONDS) if self.has_time else None

    def columns_of_all(self, change: Change, seconds: float) -> dict[str, Any] | None:
        """Return what `ipub fit` would say of a fit with something changed."""
        return self._predictions(change, np.arange(self.X.num_rows), seconds)

    def _predictions(self, change: Change, rows: NDArray[np.intp], seconds: float) -> dict[str, Any] | None:
        X = self.without(change)
        with warnings.catch_warnings(), working("Trying what makes the bounds narrower"):
            warnings.simplefilter("ignore")  # said once, of the model that is saved
            try:
                other = clone(self.estimator).set_params(**change.parameters).fit(X, self.y)
            except IpubError:  # it does not go with this table
                return None
            self.n_tried += 1
            return sampled_predictions(as_saved(other, self.with_rows), X.take(rows), max(seconds, self.seconds))

    def lever(self, change: Change) -> Lever | None:
        """Try a change, and return what it gives; None without time, or if it makes nothing much better."""
        columns = self.columns(change)
        return None if columns is None or says_one(columns) else self.lever_of(change, columns)

    def lever_of(self, change: Change, columns: dict[str, Any]) -> Lever | None:
        """Return what predictions with a change are better in; None if in nothing much."""
        share, before = share_certain(columns), share_certain(self.now)
        if share is None or before is None:
            width, now = median_width(columns), median_width(self.now)
            is_better = width <= min(LESS_WIDE * now, float(np.std(self.y)))
            return Lever(change, now / max(width, 1e-300), f"median width {width:.4g}") if is_better else None
        n = len(columns["prediction"])
        of_few = "" if n == len(self.drawn) else f" (of {n} rows)"
        is_any = {"uncertainty": self.estimator.uncertainty, **change.parameters}["uncertainty"] == "worst"
        words = f"{percent(share)} certain{' under any filling' if is_any else ''}{of_few}"
        only = only_certain_class(columns, self.y)
        words += "" if only is None else f", all of them {only}, the most frequent class"
        return Lever(change, share, words, only is not None) if share >= before + MORE_CERTAIN else None

    def without(self, change: Change) -> pa.Table:
        """Return the table without what a change leaves out."""
        return self.X.drop_columns([change.dropped]) if change.dropped else self.X

    def accuracy(self, change: Change) -> str:
        """Return the accuracy, or error, that a lever has on held-out rows beside that of the fit; nothing if not."""
        before, other = self.held_out(NOTHING), self.held_out(change)
        if np.isnan(before) or np.isnan(other):
            return ""
        what, digits = ("accuracy", ".3f") if is_classifier(self.estimator) else ("held-out error", ".4g")
        return f", {what} {other:{digits}} instead of {before:{digits}}"

    def held_out(self, change: Change) -> float:
        """Return the accuracy, or error, on held-out rows with something changed; draws train the same model."""
        if change.words not in self._held_out:
            model = clone(self.estimator).set_params(**change.parameters)
            self._held_out[change.words] = held_out(model, self.without(change), self.y)
        return self._held_out[change.words]

    def is_as_accurate(self, change: Change, other: Change) -> bool:
        """Whether one change is hardly less accurate than another; not if that is not known."""
        of_change, of_other = self.held_out(change), self.held_out(other)
        if is_classifier(self.estimator):
            return bool(of_change >= of_other - AS_ACCURATE)
        return bool(of_change <= of_other * (1.0 + AS_ACCURATE))


def says_one(columns: dict[str, Any]) -> bool:
    """Whether all classes that are predicted are the same: then they say nothing of a row."""
    return "certain" in columns and len(columns["prediction"].unique()) == 1


# --- levers ------------------------------------------------------------------------------------------


def tried_levers(trials: Trials, named: list[str], first: Lever | None, *, tries_draws: bool) -> list[Lever]:
    """Return what makes more predictions certain.

    The columns `named` cause most of the width; the `first` lever has been tried before.
    """
    tried = first, _stronger_penalty(trials), *map(trials.lever, _changes(trials, named))
    levers = [lever for lever in tried if lever]
    return levers + [
        lever for lever in [_draws(trials) if tries_draws else None] if lever and len(levers) < MOST_LEVERS
    ]


def show_levers(
    trials: Trials, command: SameCommand, named: list[str], levers: list[Lever], said: Lever | None
) -> None:
    """Say what makes more predictions certain, best first, with what each gives and the command for it.

    Left out is what a lever that was `said` above does as well, or any that assumes less.
    """
    if said is not None or levers:
        levers = [lever for lever in levers if lever is not said and not is_dominated(trials, lever, levers, said)]
        if not levers:
            return
    if not levers:
        if named and trials.n_tried:
            is_number = named[0] in tables.numbers_of(trials.X).column_names
            say(
                f"No other setting that was tried gives much more. What is left: fill in missing values of {named[0]} "
                f"({trials.table.holes[named[0]]}){', or say with --ranges where they lie' if is_number else ''}."
            )
        return
    say()
    is_classes = is_classifier(trials.estimator)
    what = "more predictions certain" if is_classes else "the bounds narrower"
    how = f"each was tried on {len(trials.drawn)} training rows; accuracies are of {N_FOLDS}-fold cross-validation"
    say(f"What makes {what} ({how}):", "bold")
    for change, _, words, _ in sorted(levers, key=lambda lever: -lever.gain)[:MOST_LEVERS]:
        accuracy = "" if "uncertainty" in change.parameters else trials.accuracy(change)
        say(f"- {change.words}: {words}{accuracy}:")
        say_command(command.with_options(**{**trials.options, **with_dropped(command, change)}))


def is_dominated(trials: Trials, lever: Lever, levers: list[Lever], said: Lever | None) -> bool:
    """Whether another lever promises more than one that assumes more, or the one that was said is better in all."""
    if lever.change.assumes_more:
        return any(
            other is not lever
            and not other.change.assumes_more
            and not other.says_majority
            and other.gain >= lever.gain - NEARLY
            and trials.is_as_accurate(other.change, lever.change)
            for other in levers
        )
    return said is not None and said.gain >= lever.gain and trials.is_as_accurate(said.change, lever.change)


def with_dropped(command: SameCommand, change: Change) -> dict[str, Any]:
    """Return the options of a lever, with the columns that are left out already."""
    if not change.dropped:
        return change.options
    return {**change.options, "drop": [*(command.given("drop") or []), change.dropped]}


def stronger(alpha: float) -> list[float]:
    """Return the values of alpha that are tried above one, from weak to strong."""
    several = [float(f"{alpha * 10.0 ** (k / 2):.2g}") for k in range(1, 9)]
    return [each for each in several if each <= MOST_ALPHA] or several[:2]


def with_alpha(alpha: float, other: Change = NOTHING) -> Change:
    """Return another strength of the penalty, beside another change."""
    words = f"{other.words} and alpha {alpha:g}" if other.words else f"alpha {alpha:g}"
    return Change(words, {**other.parameters, "alpha": alpha}, {**other.options, "alpha": f"{alpha:g}"})


def _stronger_penalty(trials: Trials) -> Lever | None:
    """Return the weakest penalty that makes half of the predictions certain; if none does, the one with most.

    In a regression, the weakest that is tried and makes bounds half as wide.
    """
    alphas = stronger(float(trials.estimator.alpha))
    enough = FEW_CERTAIN if is_classifier(trials.estimator) else 2.0
    best: Lever | None = None
    lowest, highest = 0, len(alphas)
    while lowest < highest:
        at = (lowest + highest) // 2
        columns = trials.columns(with_alpha(alphas[at]))
        if columns is None:
            break
        too_strong = says_one(columns)
        lever = None if too_strong else trials.lever_of(with_alpha(alphas[at]), columns)
        is_enough = lever is not None and lever.gain >= enough
        if lever is not None and (best is None or is_enough or lever.gain > best.gain):
            best = lever
        lowest, highest = (lowest, at) if is_enough or too_strong else (at + 1, highest)
    return best


def _changes(trials: Trials, named: list[str]) -> list[Change]:
    """Return what else may help, what helps most often first."""
    estimator = trials.estimator
    intervals = estimator.intervals
    rules = _rules(intervals.kind)
    numbers = set(tables.numbers_of(trials.X).column_names)
    changes = []
    if named and trials.X.num_columns > 1:
        changes.append(Change(f"without the column {named[0]}", {}, {}, named[0]))
    if not numbers.isdisjoint(named) and {"quantile", "conditional"} & rules:
        level = 0.5 if intervals.level > 0.5 else 0.5 * intervals.level
        words = f"narrower intervals, with {100 * level:.3g} % of the observed values in them"
        changes.append(Change(words, {"intervals__level": level}, {"interval_level": f"{level:g}"}))
    if not numbers.isdisjoint(named) and intervals.kind == "quantile" and intervals.level < 1.0:
        words = "intervals that follow from the other values of each row"
        changes.append(Change(words, {"intervals__kind": "conditional"}, {"intervals": "conditional"}))
    return changes


def _draws(trials: Trials) -> Lever | None:
    """Return draws of an imputer, if there is time for them."""
    change = draws_in_time(trials, trials.end - time.perf_counter())
    return None if change is None else trials.lever(change)


def draws_in_time(trials: Trials, seconds: float) -> Change | None:
    """Return the promise of draws, if they are likely to take no more seconds, by what a few of them take."""
    if not isinstance(trials.estimator.uncertainty, str):
        return None
    taken = []
    for n in PROBED_DRAWS:
        start = time.perf_counter()
        if trials.columns(_with_draws(n, trials.estimator)) is None:
            return None
        taken.append(time.perf_counter() - start)
    first, last = PROBED_DRAWS
    each = max(0.0, taken[1] - taken[0]) / (last - first)
    return (
        None
        if taken[1] + (CERTAIN_DRAWS - last) * each + sum(taken) > seconds
        else _with_draws(CERTAIN_DRAWS, trials.estimator)
    )


def _with_draws(n: int, estimator: Any) -> Change:
    draws = Draws(n_draws=n, random_state=0)
    probability = draws.class_probability if is_classifier(estimator) else draws.probability
    words = f"a weaker promise, with probability {100 * probability:.3g} %: missing values as an imputer draws them"
    return Change(words, {"uncertainty": draws}, {"draws": n})


def column_shares(estimator: Any, X: pa.Table) -> dict[str, float]:
    """Return the columns that cause most of the width, and their shares of it, to first order."""
    training = estimator.training_
    drawn = X.take(np.random.default_rng(0).permutation(X.num_rows)[:EFFECT_ROWS])
    widths = first_order_widths(training, training.table.filled_rows(drawn))
    if not 0.0 < widths.sum() < np.inf:
        return {}
    shares = widths / widths.sum()
    largest = [int(j) for j in np.argsort(-shares)[:SHOWN_COLUMNS] if shares[j] >= LEAST_SHARE]
    return {X.column_names[j]: float(shares[j]) for j in largest}


def _rules(intervals: Any) -> set[str]:
    """Return the rules that are used for intervals."""
    values = [intervals] if isinstance(intervals, str) else list(intervals.values())
    return {value for value in values if isinstance(value, str)}
