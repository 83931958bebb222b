"""The search for fillings that take a row to another side with as few changes as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from ipub.answers.attained import RETRAINING_ERROR, search_fillings
from ipub.answers.tipping.asked_rows import AskedRows
from ipub.answers.tipping.filled_in import FilledIn
from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import Indices
from ipub.tables.movable_units import HOLES

MOST_ROUNDS = 6
"""How often units are chosen anew for one number of them, at most."""

MOST_LEFT_OUT = 60
"""Changes of a filling that flips that are tried without, one by one, at most: time against fewer changes."""

MOST_RIVALS = 2
"""Classes that a row is pushed to, at most: those with the highest scores."""

T = TypeVar("T")

NO_OPTIONS: Indices = np.zeros(0, dtype=np.intp)


def fewest(attempt: Callable[[int], T | None], least: int, most: int) -> T | None:
    """Return what an attempt gives for the smallest number for which it was seen to give anything; None: for none.

    The number is doubled until something is found; then the distance to one that failed is halved.
    """
    failed, k = least - 1, min(least, most)
    while (found := attempt(k)) is None:
        if k >= most:
            return None
        failed, k = k, min(max(1, 2 * k), most)
    while k - failed > 1:
        middle = (k + failed) // 2
        smaller = attempt(middle)
        if smaller is None:
            failed = middle
        else:
            found, k = smaller, middle
    return found


class Aim(NamedTuple):
    """What is to become positive: ``x.v - least``, v a sum of the weights of the models with these signs."""

    signs: Array
    least: float

    def direction(self, models: list[Array]) -> Array:
        """Return v."""
        return np.asarray(self.signs @ np.array(models))


@dataclass(frozen=True, eq=False)
class Flip:
    """A filling under which a row is on another side."""

    positions: Array
    """Of all missing values, as in `MissingValues`."""
    models: list[Array]
    """Weights of the models trained on it."""
    aim: Aim

    def changed(self, filled: FilledIn) -> Indices:
        """Return the missing values that differ from the filled-in ones."""
        return np.flatnonzero(self.positions != filled.missing.filled_in)


def aims_of(filled: FilledIn, asked: AskedRows, threshold: float) -> Iterator[list[Aim]]:
    """Yield for each row what takes it to another side than that of the filled-in table's models, the nearest first."""
    scores, n_models = filled.scores(asked.center), len(filled.models)
    for row in scores:
        if n_models == 1:
            side = -1.0 if row[0] > threshold else 1.0
            yield [Aim(np.array([side]), side * threshold)]
            continue
        first, *others = np.argsort(-row, kind="stable")
        aims = []
        for rival in others[:MOST_RIVALS]:
            signs = np.zeros(n_models)
            signs[rival], signs[first] = 1.0, -1.0
            aims.append(Aim(signs, 0.0))
        yield aims


class FlipSearch:
    """The search for few units that take a row to another side."""

    def __init__(self, filled: FilledIn, asked: AskedRows) -> None:
        self.filled, self.asked = filled, asked
        self._base = [search.w for search in filled.searches]

    def smallest(self, number: int, aims: list[Aim], least: int = 1, which: Indices | None = None) -> Indices | None:
        """Return the options of the fewest units that were found to take a row to another side; None: none were.

        No fewer than `least` are tried, and with `which` no other units than these.
        """
        best: Indices | None = None
        for aim in aims:
            found = self._smallest(number, aim, least, which)
            if found is not None and (best is None or len(found) < len(best)):
                best = found
        return best

    def found(self, number: int, aims: list[Aim]) -> tuple[float, Flip | None]:
        """Return the smallest number of units that was found to take a row to another side, and the filling."""
        options, group = self.smallest(number, aims), self.filled.group
        if options is not None and group != HOLES:
            return float(len(options)), None
        flip = None if options is None else self.flip(number, aims, options)
        if flip is None and group == HOLES:
            flip = self.from_any_filling(number, aims)
        return (np.inf, None) if flip is None else (float(len(flip.changed(self.filled))), flip)

    def can_flip(self, number: int, aims: list[Aim]) -> bool:
        """Whether `smallest` finds a filling that flips, retrained: without looking for the smallest number."""
        if self.asked.has_missing(number) and self.flip(number, aims, NO_OPTIONS) is not None:
            return True
        for aim in aims:
            k, most = min(1, self.filled.count), self.filled.count
            while (options := self.pushed(number, aim, k)) is None and k < most:
                k = min(2 * k, most)
            if options is not None and self.flip(number, aims, options) is not None:
                return True
        return False

    def _smallest(self, number: int, aim: Aim, least: int, which: Indices | None) -> Indices | None:
        if not self.asked.has_missing(number):
            least = max(least, 1)
        elif self.flips(number, aim, self._base):
            return NO_OPTIONS
        most = self.filled.count if which is None else len(which)
        options = fewest(lambda k: self.pushed(number, aim, k, which), least, most)
        return None if options is None else self._without_superfluous(number, aim, options)

    def pushed(self, number: int, aim: Aim, k: int, which: Indices | None = None) -> Indices | None:
        """Return options of at most k units that take a row to another side, as retraining shows; None: not found."""
        searches, moves = self.filled.searches, self.filled.moves(k)
        models, table, options, best = self._base, searches[0].X, NO_OPTIONS, -np.inf
        for _ in range(MOST_ROUNDS):
            gains = self._gains(number, aim, models, table)
            if which is not None:
                gains = np.where(np.isin(self.filled.movable.option_unit, which), gains, 0.0)
            chosen = searches[0].within(searches[0].order(gains), moves)
            if np.array_equal(chosen, options):
                break
            options, models = chosen, self._retrained(aim, chosen, models)
            if self.flips(number, aim, models):
                return options
            value = self.value(number, aim, models)
            if not value > best:
                break
            best, table = value, searches[0].table_with(options)
        return None

    def value(self, number: int, aim: Aim, models: list[Array]) -> float:
        """Return what has to become positive, with the row's own missing values as they suit it."""
        v = aim.direction(models)
        return float(self.asked.highest(number, v) @ v) - aim.least

    def flips(self, number: int, aim: Aim, models: list[Array]) -> bool:
        """Whether a row is on another side, clearly: by more than rounding may do."""
        return bool(self.value(number, aim, models) > RETRAINING_ERROR * (1.0 + abs(aim.least)))

    def _gains(self, number: int, aim: Aim, models: list[Array], table: Array) -> Array:
        """Return about how much each option by itself adds."""
        x = self.asked.highest(number, aim.direction(models))
        parts = zip(aim.signs, self.filled.searches, models, strict=True)
        gains = [sign * search.gains(x, w, table) for sign, search, w in parts if sign]
        return np.asarray(np.sum(gains, axis=0), dtype=float)

    def about(self, number: int, aims: list[Aim]) -> int:
        """Guess up to how many units are proved to leave a row on its side, from what they do to first order.

        If k units, of all n, do enough to first order, about ``1 + k / n`` times that is proved of fewer. Any guess is
        sound: it is where a search begins.
        """
        least = n = self.filled.count
        for aim in aims:
            gains = self._gains(number, aim, self._base, self.filled.searches[0].X)
            by_unit = np.sort(np.maximum(self.filled.movable.greatest(gains), 0.0))[::-1]
            total, away = np.cumsum(by_unit), -self.value(number, aim, self._base)
            enough = min(n, 1 + int(np.searchsorted(total, away)))
            least = min(least, int(np.searchsorted((1.0 + enough / max(1, n)) * total, away)))
        return least

    def _retrained(self, aim: Aim, options: Indices, start: list[Array]) -> list[Array]:
        parts = zip(aim.signs, self.filled.searches, start, strict=True)
        return [search.retrained(options, w) if sign else w for sign, search, w in parts]

    def _without_superfluous(self, number: int, aim: Aim, options: Indices) -> Indices:
        """Leave out changes without which the row is on the other side too, those that gain least first."""
        models = self._retrained(aim, options, self._base)
        table = self.filled.searches[0].table_with(options)
        gains = self._gains(number, aim, models, table)[options]
        for option in options[np.argsort(gains)][:MOST_LEFT_OUT]:
            fewer = options[options != option]
            if len(fewer) and self.flips(number, aim, self._retrained(aim, fewer, models)):
                options = fewer
        return options

    # --- whole fillings -------------------------------------------------------------------------------

    def flip(self, number: int, aims: list[Aim], options: Indices) -> Flip | None:
        """Return the filling with these options, retrained as users get it; None if that does not flip after all."""
        return self.flip_at(number, aims, self.filled.positions(options))

    def flip_at(self, number: int, aims: list[Aim], positions: Array) -> Flip | None:
        """Return a filling, retrained, if it takes the row to another side."""
        models = self.filled.models_at(positions)
        for aim in aims:
            if self.flips(number, aim, models):
                return Flip(positions, models, aim)
        return None

    def from_any_filling(self, number: int, aims: list[Aim]) -> Flip | None:
        """Search among all fillings, values inside intervals too, and put back what needs not differ."""
        training, missing = self.filled.training, self.filled.missing
        if training.around is not None or len(self.filled.models) > 1 or not training.can_search:
            return None
        row = self.asked.rows.take(np.array([number]))
        (aim,) = aims
        pair = search_fillings(training, row, keep_completions=True).completions[0]
        found = self.flip_at(number, aims, missing.positions_of(pair[int(aim.signs[0] > 0.0)].positions))
        return None if found is None else self._nearer(number, aims, found)

    def _nearer(self, number: int, aims: list[Aim], flip: Flip) -> Flip:
        """Put back as many missing values as possible to what is filled in, those that gain least first."""
        filled, missing = self.filled, self.filled.missing
        gains = self._gains(number, flip.aim, self._base, filled.searches[0].X)
        by_unit = np.append(filled.movable.greatest(gains), 0.0)[filled.units]
        changed = flip.changed(filled)
        changed = changed[np.argsort(-by_unit[changed], kind="stable")]

        def with_first(kept: Indices) -> Flip | None:
            positions = np.array(missing.filled_in)
            positions[kept] = flip.positions[kept]
            return self.flip_at(number, aims, positions)

        failed, best, order = 0, flip, changed
        while len(changed) - failed > 1:
            middle = (failed + len(changed)) // 2
            fewer = with_first(order[:middle])
            if fewer is None:
                failed = middle
            else:
                best, changed = fewer, order[:middle]
        for k in changed[::-1][:MOST_LEFT_OUT]:
            others = changed[changed != k]
            fewer = with_first(others) if len(others) else None
            if fewer is not None:
                best, changed = fewer, others
        return best
