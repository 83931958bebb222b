"""What completions of a training's table attain: the search of each of its models, for rows with holes of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ipub.answers.attained.bounds import RETRAINING_ERROR, Attained, attained_bounds
from ipub.answers.attained.within_budget import attained_within_budget
from ipub.certificates import bounds_of_uncertain_rows
from ipub.errors import IpubError
from ipub.model_sets.draws import DrawBounds
from ipub.numeric.rounding import Array
from ipub.progress_bars import progress
from ipub.tables.interval_matrix import Indices, IntervalMatrix
from ipub.tables.missing_category import NOTHING_MISSING, MissingCategories
from ipub.training.training import Training, by_model


def search_fillings(
    training: Training,
    rows: IntervalMatrix,
    *,
    keep_completions: bool = False,
    until_two_sides: bool = False,
    verbose: int = 0,
) -> Attained:
    """Search for completions of the training table and of the rows that give low and high scores.

    With `until_two_sides` no longer than until a row has scores on both sides of 0, for any filling.

    Returns
    -------
    Attained
        The bounds have shape (m, 2), or (m, K, 2) if there is more than one model; so has `inside`. The completions
        are m pairs, if `keep_completions`; of more than one model, lists of K pairs.
    """
    training.check_certified()
    training.check_search()
    center, cells, missing_categories = training.extended(rows)
    parts = [
        _attained(training, k, center, cells, missing_categories, keep_completions, until_two_sides, verbose)
        for k in range(len(training.certificates))
    ]
    training.release_caches()
    pairs: list[Any] = [part.completions for part in parts]
    if len(parts) > 1 and keep_completions:
        pairs = [[list(each) for each in zip(*pairs, strict=True)]]
    return Attained(by_model([part.bounds for part in parts]), pairs[0], by_model([part.inside for part in parts]))


def _attained(
    training: Training,
    k: int,
    center: Array,
    cells: tuple[Indices, Indices, Array],
    missing_categories: MissingCategories,
    keep: bool,
    until_two_sides: bool,
    verbose: int,
) -> Attained:
    """Search for what completions attain under model k.

    Missing categories of the rows take the levels to which the trained model gives the lowest, or highest, weight.
    """
    solution = training.unchanged_models()[k].solution
    if len(missing_categories):
        found = []
        for side in (-1.0, 1.0):
            chosen = np.zeros(len(missing_categories), dtype=np.intp)
            for which, levels in missing_categories.by_category():
                chosen[which] = np.argmax(side * solution.w[levels.columns])
            filled = center.copy()
            missing_categories.put(filled, chosen)
            found.append(_attained(training, k, filled, cells, NOTHING_MISSING, keep, until_two_sides, verbose))
        lowest, highest = found
        pairs = zip(lowest.completions, highest.completions, strict=True)
        return lowest._replace(
            bounds=np.column_stack([lowest.bounds[:, 0], highest.bounds[:, 1]]),
            completions=[(low[0], high[1]) for low, high in pairs],
            inside=np.column_stack([lowest.inside[:, 0], highest.inside[:, 1]]),
        )
    radius = np.zeros_like(center)
    radius[cells[0], cells[1]] = cells[2]
    with progress("Retraining on fillings", 1.0, bool(verbose)) as report:
        attained = _search(training, k, center, radius, keep, until_two_sides, report)
    # The exact score of each completion is inside the certified bounds; retraining is exact up to rounding only.
    certified = bounds_of_uncertain_rows(training.certificates[k].score_bounds, center, cells, training.coef_bounds[k])
    inside = np.clip(attained.bounds, certified[:, :1], certified[:, 1:])
    is_rounding = np.abs(attained.bounds - inside) <= RETRAINING_ERROR * (1.0 + np.abs(inside))
    return attained._replace(bounds=np.where(is_rounding, inside, attained.bounds))


def _search(
    training: Training,
    k: int,
    center: Array,
    radius: Array,
    keep: bool,
    until_two_sides: bool,
    report: Callable[[float], None],
) -> Attained:
    """Search for the ends of rows among what model k may be trained on."""
    problem, solution = training.models[k]
    draws = training.certificates[k].part(DrawBounds)
    if training.around is None and draws is None:
        return attained_bounds(
            problem,
            solution,
            center,
            radius=radius,
            keep_completions=keep,
            until_two_sides=until_two_sides,
            progress=report,
        )
    if keep:
        raise IpubError("Fillings are returned for uncertainty='worst' alone: leave out return_completions.")
    if draws is not None:
        return Attained(draws.plain(center, radius), [], np.zeros((len(center), 2), dtype=bool))
    assert training.around is not None
    movable, moves = training.around
    bounds = attained_within_budget(problem, solution, movable, moves, center, radius=radius, progress=report)
    return Attained(bounds, [], np.zeros((len(center), 2), dtype=bool))
