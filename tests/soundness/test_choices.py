"""What the levels of missing categories add (lem-levels-product): a plain implementation, attacks, and many rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates.slopes.categories import ChoiceTerms
from ipub.tables.missing_category import Levels

N_COLUMNS, COLUMNS = 6, np.array([2, 3, 4, 5])


def draw_terms(rng: np.random.Generator, moves: float) -> tuple[ChoiceTerms, np.ndarray]:
    """Draw terms of nine rows whose category of four levels is missing, and how far v may go in each column."""
    n, c, limits = 9, len(COLUMNS), moves * rng.random(N_COLUMNS)
    rows, slope = rng.normal(size=(n, N_COLUMNS)), rng.random(n)
    rows[:, COLUMNS] = 1.0 / c
    among_levels = 2.0 * limits[COLUMNS].max()
    zeros, nothing = np.zeros(n), np.zeros(N_COLUMNS)
    return ChoiceTerms(
        levels=Levels(COLUMNS),
        rows=rows,
        generator_row=0.3 * rng.normal(size=(n, c)),
        generator_level=rng.normal(size=(n, c)),
        weighted_slope=slope,
        product_row=slope * among_levels,
        product_level=slope * (np.abs(rows) @ limits + among_levels),
        error_row=zeros,
        error_level=zeros,
        crossing_level=zeros,
        middle=nothing,
        slack=nothing,
        force_slack=nothing,
    ), limits


def plain_ends(terms: ChoiceTerms, u: np.ndarray, limits: np.ndarray) -> list[float]:
    """Return what `ends` does for one u, row by row."""
    along, found = terms.levels.changes(u), []
    for sign in (-1.0, 1.0):
        total, direction = 0.0, np.zeros_like(u)
        for i, x in enumerate(terms.rows):
            values = sign * ((x @ u) * terms.generator_row[i] + along * terms.generator_level[i])
            values -= values.mean()
            best = int(np.argmax(values))
            product = terms.product_row[i] * (abs(x @ u) + abs(along[best]))
            ahead = values - values[best] + product + terms.product_level[i] * np.abs(along - along[best])
            ahead[best] = 0.0
            total += values[best] + ahead.max()
            step = np.zeros_like(u)
            step[COLUMNS] = -terms.levels.center_value
            step[COLUMNS[best]] += 1.0
            direction += terms.weighted_slope[i] * ((x @ u + along[best]) * step + along[best] * x)
        found.append(total + np.abs(direction) @ limits)
    return found


@pytest.mark.parametrize("moves", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_ends_are_those_of_a_plain_implementation_and_wider_for_many_rows(seed, moves):
    rng = np.random.default_rng(seed)
    terms, limits = draw_terms(rng, moves)
    U = rng.normal(size=(5, N_COLUMNS))
    found = np.array(terms.ends(U, lambda vectors: np.abs(vectors) @ limits)).T
    plain = np.array([plain_ends(terms, u, limits) for u in U])
    np.testing.assert_allclose(found, plain, rtol=1e-12)
    fast = np.array(replace(terms, is_fast=True).ends(U, lambda vectors: np.abs(vectors) @ limits)).T
    assert (fast >= found * (1.0 - 1e-12)).all()
    assert (fast <= found * (1.5 + 3.0 * moves)).all()
    alone = np.array(terms.without_products().ends(U, lambda vectors: np.abs(vectors) @ limits)).T
    assert (alone <= found * (1.0 + 1e-12)).all()


@pytest.mark.parametrize("is_fast", [False, True])
@pytest.mark.parametrize("moves", [0.1, 1.0])
def test_no_choice_of_levels_and_no_move_adds_more(moves, is_fast):
    rng = np.random.default_rng(int(10 * moves))
    nearest = np.inf
    for _ in range(40):
        terms, limits = draw_terms(rng, moves)
        terms, u = replace(terms, is_fast=is_fast), rng.normal(size=(1, N_COLUMNS))
        below, above = (end[0] for end in terms.ends(u, lambda vectors, most=limits: np.abs(vectors) @ most))
        across, along = (terms.rows @ u[0])[:, None], terms.levels.changes(u)[0]
        first = across * terms.generator_row + along * terms.generator_level
        first -= first.mean(axis=1, keepdims=True)
        for v in limits * rng.choice([-1.0, 1.0], size=(200, N_COLUMNS)):
            steps, at_row = terms.levels.changes(v), (terms.rows @ v)[:, None]
            values = first + terms.weighted_slope[:, None] * ((across + along) * steps + along * at_row)
            highest, lowest = values.max(axis=1).sum(), values.min(axis=1).sum()
            assert highest <= above * (1.0 + 1e-12)
            assert -lowest <= below * (1.0 + 1e-12)
            nearest = min(nearest, above / highest)
    assert nearest <= 1.0 + 2.0 * moves, "the attack comes near"


@pytest.mark.parametrize("is_fast", [False, True])
def test_what_overflows_bounds_nothing(is_fast):
    terms, _ = draw_terms(np.random.default_rng(0), 1.0)
    terms = replace(terms, product_row=np.full(9, np.inf), is_fast=is_fast)
    with np.errstate(invalid="ignore"):
        below, above = terms.ends(np.zeros((1, N_COLUMNS)), lambda vectors: np.zeros(len(vectors)))
    assert not np.isfinite([below, above]).any()
