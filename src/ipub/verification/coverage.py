"""Whether bounds over draws hold as often as they promise, by simulation of the imputer.

Bounds of T draws miss the score of the true table on one side with probability 1 / (T + 1) at most, over the draws and
the true table. Of a model whose draws are done, the share of true tables that it misses is itself random, at most like
the least of T uniform numbers: so in N simulated tables the number of misses is at most beta-binomial. Fewer misses
than that prove nothing; many more contradict the promise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import betabinom

from ipub.promises.draws import IMPUTERS
from ipub.training.imputing.holes import Holes
from ipub.training.imputing.samplers import sampler_of
from ipub.verification.checked_rows import CheckedRows, Violation
from ipub.verification.claim import Categories, Claim, Given
from ipub.verification.plain_losses import Array
from ipub.verification.plain_training import train
from ipub.verification.search_fillings import Goal, base_filling, pushed

CONTRADICTED = 1e-9
"""Misses that are less likely than this contradict the promise."""
MOST_ROWS = 20
"""Rows that tables in the neighbourhood of a draw are aimed at."""


class Coverage(NamedTuple):
    """How often scores of simulated tables were within the bounds."""

    n_tables: int
    n_scores: int
    n_inside: int
    least_likely: float
    """The smallest probability, over rows and sides, that so many or more misses have if the promise holds."""
    n_draws: int

    def __str__(self) -> str:
        share = 100.0 * self.n_inside / max(1, self.n_scores)
        promised = 100.0 * (1.0 - 1.0 / (self.n_draws + 1))
        return (
            f"{self.n_tables} simulated tables, {self.n_inside} of {self.n_scores} ends of scores inside "
            f"({share:.2f} %); {self.n_draws} draws promise {promised:.2f} % on either side"
        )


class Simulation:
    """Tables that the imputer of a model draws, with what may be off in them, and the misses of its bounds."""

    def __init__(self, model: Any, given: Given, rows: list[CheckedRows], rng: np.random.Generator) -> None:
        self._draws, self._rows, self._rng = model.uncertainty, rows, rng
        counted = rows[0].claim.base.weight > 0.0
        self._holes = Holes.of(model.training_.table, given.X, None, counted)
        self._sampler = sampler_of(self._draws, self._holes)
        self.n_tables = 0
        self._misses = np.zeros((len(rows), len(rows[0].bounds), 2), dtype=int)
        self._trials = np.zeros_like(self._misses)

    def step(self, count: Callable[[bool], None]) -> None:
        """Draw a table, train on it, and count; for every second one on tables that are off by the radius."""
        drawn = self._sampler.draw(self._rng)
        table = self._holes.table.copy()
        table[self._holes.rows, self._holes.columns] = drawn.numbers
        self._holes.missing_categories.put(table, drawn.levels)
        is_aimed = self._draws.radius > 0.0 and self.n_tables % 2 == 1
        self.n_tables += 1
        for k, rows in enumerate(self._rows):
            claim = around(rows.claim, table, float(self._draws.radius))
            start = base_filling(claim, self._rng)
            model = train(claim.filled(start), claim.objective)
            count(False)
            for side, X in zip((0, 1), rows.ends(model.w), strict=True):
                if not is_aimed:
                    self._score(k, side, slice(None), model.scores(X, claim.objective.has_intercept))
                    continue
                for row in self._rng.permutation(len(X))[:MOST_ROWS]:
                    goal = Goal(X[row], 2.0 * side - 1.0)
                    tried = pushed(claim, start, model, goal, self._rng)
                    worst = train(claim.filled(tried), claim.objective, model.w)
                    count(True)
                    self._score(k, side, np.array([row]), worst.scores(X[[row]], claim.objective.has_intercept))

    def _score(self, k: int, side: int, which: Any, ends: tuple[Array, Array]) -> None:
        bounds = self._rows[k].bounds[which]
        missed = ends[1] < bounds[:, 0] if side == 0 else ends[0] > bounds[:, 1]
        self._misses[k, which, side] += missed
        self._trials[k, which, side] += 1

    def coverage(self) -> Coverage:
        """Return what was counted; misses that contradict the promise are violations of the rows."""
        n_draws = int(self._draws.n_draws)
        likely = np.where(
            self._trials > 0, betabinom.sf(self._misses - 1, np.maximum(self._trials, 1), 1, n_draws), 1.0
        )
        for k, row, side in np.argwhere(likely < CONTRADICTED).tolist():
            rows, missed = self._rows[k], int(self._misses[k, row, side])
            what = (
                f"{rows.name(row)}: {missed} of {int(self._trials[k, row, side])} simulated tables have a score "
                f"{('below', 'above')[side]} its bounds, which {n_draws} draws make less likely than {CONTRADICTED:g}"
            )
            rows.n_violated += 1
            rows.violations.append(Violation(what, (np.nan, np.nan), (np.nan, np.nan)))
        total = int(self._trials.sum())
        return Coverage(self.n_tables, total, total - int(self._misses.sum()), float(likely.min()), n_draws)


def knows_law(model: Any) -> bool:
    """Whether the imputer is part of the model: a file has no imputers but those with a name."""
    imputer = model.uncertainty.imputer
    return not isinstance(imputer, str) or imputer in IMPUTERS


def around(claim: Claim, table: Array, radius: float) -> Claim:
    """Return a claim about the neighbourhood of a filled-in table, with numbers off by so many half-widths at most."""
    numbers, categories = claim.numbers, claim.categories
    drawn = table[numbers.rows, numbers.columns]
    is_known = np.isnan(drawn)
    drawn = np.where(is_known, numbers.middle, drawn)
    reach = 0.5 * radius * (numbers.high - numbers.low) * (1.0 - 1e-9)
    near = numbers._replace(low=np.maximum(numbers.low, drawn - reach), high=np.minimum(numbers.high, drawn + reach))
    base = claim.base._replace(numbers=np.clip(drawn, near.low, near.high), levels=claim.base.levels[:0])
    whole = claim.table.copy()
    for row, first, stop, _ in zip(*categories, strict=True):
        whole[row, first:stop] = table[row, first:stop]
    nothing = Categories(*(part[:0] for part in categories))
    return replace(claim, table=whole, numbers=near, categories=nothing, base=base)
