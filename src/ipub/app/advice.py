"""What makes bounds narrower: the columns that cause their width, and what can be done, with the command for each."""

from __future__ import annotations

import shlex
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from ipub.answers.column_effects import first_order_widths
from ipub.app.files import tables
from ipub.app.predictions import median_width, sampled_predictions, share_certain
from ipub.app.screen import say, working
from ipub.app.training_tables import TrainingTable
from ipub.estimators.fitted_state import as_saved
from ipub.promises import Budget
from ipub.training.alpha_choice import ALPHAS

FEW_CERTAIN = 0.5
"""Below this share of certain predictions, `fit` says what would raise it."""
EFFECT_ROWS, TRIED_ROWS = 25, 100
"""Training rows over which the effects of columns are averaged, and that are bounded to try something."""
SHOWN_COLUMNS, LEAST_SHARE = 3, 0.05
"""So many columns are named, and only those with this share of the width."""
QUICK, PATIENCE = 1.0, 5.0
"""Where `fit` takes fewer seconds than the first, other settings are tried, for about as many as the second."""


class SameCommand:
    """The command that is running, with some options changed: for advice that can be copied."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def given(self, name: str) -> Any:
        """Return the value of an option that was given; None if it was left out."""
        is_given = self.context.get_parameter_source(name).name == "COMMANDLINE"
        return self.context.params[name] if is_given else None

    def with_options(self, **changes: Any) -> str:
        """Return the command with other values of some options."""
        words = ["ipub", self.context.info_name]
        for parameter in self.context.command.params:
            value = changes.get(parameter.name, self.given(parameter.name))
            for each in value if isinstance(value, list | tuple) else [value]:
                if parameter.param_type_name == "argument":
                    words.append(str(each))
                elif each is not None and each is not False:
                    words += [parameter.opts[0]] if each is True else [parameter.opts[0], str(each)]
        return shlex.join(words)


class Fit(NamedTuple):
    """A fitted BoundedClassifier or BoundedRegressor, its training table, and how long training and certifying took."""

    estimator: Any
    table: TrainingTable
    seconds: float
    saved: Any
    """The estimator as the model file gives it back."""
    with_rows: bool
    """Whether that file may hold training rows."""


class Trials:
    """Fits with one setting changed, to say what it would give; none where a fit takes long."""

    def __init__(self, fit: Fit) -> None:
        self.estimator, self.table, seconds, _, self.with_rows = fit
        self.X, self.y = self.table.X, self.table.y
        self.rows = self.X.take(np.random.default_rng(0).permutation(self.X.num_rows)[:TRIED_ROWS])
        self.end = time.perf_counter() + (PATIENCE if seconds < QUICK else 0.0)

    def columns(self, **changes: Any) -> dict[str, Any] | None:
        """Return the predictions of some training rows by an estimator with other parameters; None without time."""
        if time.perf_counter() > self.end:
            return None
        with warnings.catch_warnings(), working("Trying what makes the bounds narrower"):
            warnings.simplefilter("ignore")  # said once, of the model that is saved
            other = clone(self.estimator).set_params(verbose=0, **changes).fit(self.X, self.y)
            return sampled_predictions(as_saved(other, self.with_rows), self.rows, 0.0)

    def result(self, **changes: Any) -> str:
        """Say what other parameters give, as the end of a sentence; nothing without time."""
        columns = self.columns(**changes)
        return "" if columns is None else _result(columns)

    def stronger_penalty(self) -> tuple[float, str]:
        """Return a stronger penalty, and what it gives: the weakest that makes half of the predictions certain.

        If none does, the one with most of them certain. A model that says the same of every row does not count.
        """
        alpha, choice = self.estimator.alpha_, self.estimator.alpha_choice_
        alphas = sorted(each for each in ALPHAS if each > 1.5 * alpha) or [float(f"{10.0 * alpha:.1g}")]
        one_error = None if choice is None else choice.alphas[choice.one_error]
        first = next((k for k, each in enumerate(alphas) if each == one_error), 0)
        best, most, words = alphas[first], -1.0, ""
        lowest, highest, at = 0, len(alphas), first
        while lowest < highest:
            columns = self.columns(alpha=alphas[at])
            if columns is None:
                break
            share = share_certain(columns)
            if share is None:
                return alphas[at], _result(columns)
            says_one = len(columns["prediction"].unique()) == 1
            is_enough = says_one or share >= FEW_CERTAIN
            if not says_one and (share > most or is_enough):
                best, most, words = alphas[at], share, _result(columns)
            lowest, highest = (lowest, at) if is_enough else (at + 1, highest)
            at = (lowest + highest) // 2
        return best, words


def advise(trials: Trials, command: SameCommand) -> None:
    """Name the columns that cause most of the width, and what can be done, with the command for each."""
    estimator, X = trials.estimator, trials.X
    holes = trials.table.holes
    shares = column_shares(estimator, X)
    if shares:
        listed = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
        say(f"Columns whose missing values cause most of the width, to first order: {listed}")
    named = list(shares) or sorted((name for name in holes if holes[name]), key=lambda name: -holes[name])
    numbers = set(tables.numbers_of(X).column_names)
    known = next((name for name in named if name in numbers), None)
    say("What makes the bounds narrower:", "bold")
    alpha, words = trials.stronger_penalty()
    loss, choice = "", estimator.alpha_choice_
    if choice is not None and alpha in choice.alphas:
        held_out = [choice.loss[choice.alphas == each][0] for each in (alpha, choice.alpha)]
        loss = f", with a held-out loss of {held_out[0]:.4g} instead of {held_out[1]:.4g}"
    _lever(f"a stronger penalty{loss}{words}", command.with_options(alpha=f"{alpha:g}"))
    if known is not None and {"quantile", "conditional"} & _rules(estimator.intervals):
        level = 0.5 if estimator.interval_level > 0.5 else 0.5 * estimator.interval_level
        result = trials.result(interval_level=level)
        _lever(
            f"narrower intervals, with {100 * level:.3g} % of the observed values in them{result}",
            command.with_options(interval_level=f"{level:g}"),
        )
    is_possible = not trials.table.is_streamed and estimator.interval_level < 1.0
    if known is not None and is_possible and "conditional" not in _rules(estimator.intervals):
        result = trials.result(intervals="conditional") if estimator.intervals == "quantile" else ""
        _lever(
            f"intervals that follow from the other values of each row{result}",
            command.with_options(intervals="conditional"),
        )
    if known is not None:
        line = f"{tables.toml_key(known)} = [low, high]"
        _lever(f"what you know of a column, as lines {line} in a file", command.with_options(ranges="ranges.toml"))
    if isinstance(estimator.uncertainty, str):
        result = trials.result(uncertainty=Budget(share=0.05))
        _lever(
            f"a weaker promise: 5 % of the missing values differ from the filled-in ones{result}",
            command.with_options(budget="5%"),
        )
        _lever("another: they are as an imputer draws them", command.with_options(draws=199))
    _lever(f"measuring: fill in empty cells of {named[0]}, which has {holes[named[0]]}", command.with_options())


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


def _result(columns: dict[str, Any]) -> str:
    share = share_certain(columns)
    return f" (median width {median_width(columns):.4g})" if share is None else f" ({100 * share:.0f} % certain)"


def _rules(intervals: Any) -> set[str]:
    """Return the rules that are used for intervals."""
    values = [intervals] if isinstance(intervals, str) else list(intervals.values())
    return {value for value in values if isinstance(value, str)}


def _lever(what: str, command: str) -> None:
    say(f"- {what}:")
    say(f"    {command}")
