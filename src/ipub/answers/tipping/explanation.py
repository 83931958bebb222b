"""Why a prediction is certain or not, and what would change it: the answer as users see it."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ipub.answers.shown_numbers import DOWN, UP, shown_number
from ipub.answers.status import CERTAIN, OPEN
from ipub.answers.tipping.growth import Growth
from ipub.numeric.rounding import Array

MOST_SHOWN, FEW_SHOWN = 10, 5
"""Changes, and missing values that matter, that are printed, at most."""


class Tipping(NamedTuple):
    """How many missing values must differ from the filled-in ones before the prediction changes."""

    at_least: float
    """No fewer can change it: proved. Infinite if all of them together cannot."""
    at_most: float
    """So many do: a filling was found and retrained. Infinite if none was found."""


class Part(NamedTuple):
    """Bounds of a prediction if only a part of what is missing may vary."""

    source: str
    """What may vary: ``training table``, ``row`` or ``both``."""
    lower: float
    upper: float

    @property
    def width(self) -> float:
        """From the lower to the upper bound."""
        return self.upper - self.lower


class Change(NamedTuple):
    """A missing value that differs from the filled-in one."""

    row: Any
    column: Any
    filled_in: Any
    value: Any


class TopCell(NamedTuple):
    """A missing value that matters, if it alone varies: to first order."""

    row: Any
    column: Any
    lowest: float
    highest: float


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a prediction is certain or not, and which missing values would change it."""

    row: Any
    """The index label of the row, or 0."""
    prediction: Any
    """What `predict` gives."""
    value: float
    """The number that is bounded, under the model of `predict`."""
    quantity: str
    """What it is, in words: ``probability of malignant``, ``score of 1``, ``prediction``."""
    bounds: Array
    """Shape (2,): its certified bounds. With more than two classes (n_classes, 2): of each class; `value` is of the
    class that is predicted."""
    threshold: float | None
    """Where the prediction changes, on the same scale; None if there is no such number."""
    status: str | None
    """"certain", "open" or "unproved"; None in a regression without a threshold."""
    tipping: Tipping | None
    """How many missing values of the training table must differ; None where that is not counted (`notes` say why)."""
    n_missing: int
    """Number of missing values of the training table."""
    changes: Any
    """A frame with a line for each missing value of the training table that differs in `filling`: ``row``, ``column``,
    ``filled_in`` and ``value``, in the units of the table; empty if no filling is known that changes the prediction."""
    filling: Any
    """The whole training table, filled in and in its own units, whose model changes the prediction; None if none is
    known. It was retrained."""
    own_values: Any
    """A frame with a line for each missing value of the row itself: ``column``, ``filled_in`` (by `predict`) and
    ``value``, the one with which it changes; empty without such values, or such a filling."""
    top_cells: Any
    """A frame with a line for each of the missing values of the training table that matter most: ``row``, ``column``,
    ``lowest`` and ``highest``: about where the prediction would be if that value alone varied (to first order)."""
    parts: tuple[Part, ...]
    """Bounds if only the training table's missing values vary, only the row's own, and both."""
    promise: str
    """What the bounds promise."""
    notes: tuple[str, ...]
    """What could not be answered, and why."""
    changed: tuple[Change, ...]
    """The lines of `changes`, in their order."""
    top: tuple[TopCell, ...]
    """The lines of `top_cells`."""
    is_regression: bool
    grow: Callable[[], Growth | None]
    """Finds `growth`."""

    @cached_property
    def growth(self) -> Growth | None:
        """By which factor the intervals of the training table may grow with the prediction still certain.

        ``.proved`` at least, ``.found`` at most; None if the prediction is not certain, or no number is missing. It is
        computed when it is first asked for, with up to three certificates, which are kept for other rows.
        """
        return self.grow()

    def sentences(self) -> list[str]:
        """Return the answer in sentences."""
        own = self.parts[-1]
        lines = [
            f"The {self.quantity} is {shown_number(self.value)}, between {shown_number(own.lower, DOWN)} and "
            f"{shown_number(own.upper, UP)}" + (f": {self._status_in_words()}." if self.status else ".")
        ]
        lines += self._about_parts() + self._about_tipping()
        if "growth" in vars(self) and self.growth is not None:
            lines.append(_of_growth(self.growth))
        return [*lines, *self.notes]

    def _status_in_words(self) -> str:
        own, at = self.parts[-1], self.threshold
        is_sharper = self.status == CERTAIN and at is not None and own.lower < at < own.upper
        return f"{self.status} (the class is proved more sharply than the number)" if is_sharper else str(self.status)

    def _about_parts(self) -> list[str]:
        table, own, _ = self.parts
        if not own.width > 0.0:
            return []
        alone, others = (f"from {shown_number(low, DOWN)} to {shown_number(high, UP)}" for _, low, high in (own, table))
        return [f"The row has missing values itself: alone they move it {alone}, those of the training table {others}."]

    def _about_tipping(self) -> list[str]:
        if self.tipping is None:
            return []
        (at_least, at_most), n = self.tipping, self.n_missing
        it = f"Its side of {self.threshold:g}" if self.is_regression and self.threshold is not None else "Its class"
        if n == 0:
            return [] if at_most == 0 else [f"{it} never changes: no value of the training table is missing."]
        if np.isinf(at_least):
            return [f"{it} never changes, whatever the {n:,} missing values of the training table are (proved)."]
        lines = []
        if at_least > 1:
            lines.append(
                f"{it} stays while fewer than {at_least:.0f} of the {n:,} missing values of the training table differ "
                "from the filled-in ones (proved)."
            )
        if at_most == 0:
            lines.append(f"{it} changes by the row's own missing values alone.")
        elif np.isinf(at_most):
            lines += [] if self.status == OPEN else ["No filling was found that changes it."]
        else:
            lines.append(f"{it} changes with {at_most:.0f} {'other value' if at_most == 1 else 'other values'}:")
        return lines

    def __repr__(self) -> str:
        lines = self.sentences()
        if self.changed:
            here = next(k for k, line in enumerate(lines) if line.endswith(":"))
            lines[here + 1 : here + 1] = _listed([_of_change(each) for each in self.changed])
        if self.top:
            lines.append("Which single missing values matter most (first order):")
            lines += _listed([_of_cell(each) for each in self.top[:FEW_SHOWN]])
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def items(lines: list[str]) -> str:
            return f"<ul>{''.join(f'<li>{html.escape(line.strip())}</li>' for line in lines)}</ul>" if lines else ""

        parts = [f'<p title="{html.escape(self.promise, quote=True)}">{html.escape(self.sentences()[0])}</p>']
        parts += [f"<p>{html.escape(line)}</p>" for line in self.sentences()[1:]]
        parts.append(items(_listed([_of_change(each) for each in self.changed])))
        if self.top:
            parts.append("<p>Which single missing values matter most (first order):</p>")
            parts.append(items(_listed([_of_cell(each) for each in self.top[:FEW_SHOWN]])))
        return "".join(parts)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the bounds and their parts, with the threshold; returns an `ipub.plots.ExplanationDisplay`."""
        # Pictures are above answers: they are loaded when one is asked for.
        return import_module("ipub.plots").ExplanationDisplay.from_explanation(self, ax=ax)


def _listed(lines: list[str]) -> list[str]:
    more = [f"  and {len(lines) - MOST_SHOWN:,} more"] if len(lines) > MOST_SHOWN else []
    return [f"  {line}" for line in lines[:MOST_SHOWN]] + more


def _of_growth(growth: Growth) -> str:
    found = "" if np.isinf(growth.found) else f"; with {growth.found:g} times as wide ones it is not (found)"
    if growth.proved > 1.0:
        return f"It stays certain with intervals {growth.proved:g} times as wide (proved){found}."
    return f"It is not proved to stay certain with wider intervals{found}."


def _of_change(change: Change) -> str:
    place = f"{column_in_words(change.column)} of row {change.row}"
    return f"{place}: {shown_value(change.value)} instead of {shown_value(change.filled_in)}"


def _of_cell(cell: TopCell) -> str:
    return (
        f"{column_in_words(cell.column)} of row {cell.row}: {shown_number(cell.lowest)} to {shown_number(cell.highest)}"
    )


def column_in_words(label: Any) -> str:
    """Return a column as sentences name it: numbers of arrays need a word before them."""
    return f"column {label}" if isinstance(label, int) else str(label)


def shown_value(value: Any) -> str:
    """Return a value of a table with few digits."""
    return shown_number(value) if isinstance(value, float) else str(value)
