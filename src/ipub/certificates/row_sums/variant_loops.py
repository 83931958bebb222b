"""The loops of `compiled`, for Numba: each operation is the one that NumPy does, in the same order, none fused.

A NaN spreads through `larger` as through ``np.maximum``, and is passed over by `lesser` as by ``np.fmin``. Each loop is
over the variants of one direction, along contiguous arrays, so that it runs in vector registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ipub.compiled import njit


@njit(cache=True, nogil=True)
def larger(a: float, b: float) -> float:
    """Return the larger of two numbers, or a NaN."""
    return a if (a > b) | (a != a) else b


@njit(cache=True, nogil=True)
def lesser(a: float, b: float) -> float:
    """Return the lesser of two numbers, or the one that is not a NaN."""
    return a if (a < b) | (b != b) else b


@njit(cache=True, nogil=True)
def add_cells(part: Any, first: Any, last: Any, pull: Any, lower: Any, upper: Any, ranks: Any) -> None:
    """Add up what the cells of each variant do at their worse end."""
    for v in range(len(part)):
        part[v] = 0.0
    start = 0
    for count in ranks:
        end = start + count
        f, g, p, lo, hi = first[start:end], last[start:end], pull[start:end], lower[start:end], upper[start:end]
        for i in range(count):
            part[i] += larger(f[i] - p[i] * lo[i], g[i] - p[i] * hi[i])
        start += count


@njit(cache=True, nogil=True)
def add_levels(
    part: Any, derivative: Any, own: Any, change: Any, variant: Any, own_at: Any, change_at: Any, n_levels: Any
) -> None:
    """Add what each category does that may have any of its levels, at its worst level."""
    for i in range(len(variant)):
        value, a, b = derivative[variant[i]], own_at[i], change_at[i]
        most = own[a] - value * change[b]
        for level in range(1, n_levels[i]):
            most = larger(most, own[a + level] - value * change[b + level])
        part[variant[i]] += most


@njit(cache=True, nogil=True)
def turned_cells(
    found: Any, cells: Any, share: float, score: Any, change: Any, weight: Any, doubt: Any, ranks: Any
) -> None:  # fmt: skip
    """Bound what each cell at one of its ends, and the weight that it meets, do to the score's part."""
    start = 0
    for count in ranks:
        end = start + count
        out, own, moved, m, r = (
            found[start:end],
            cells[start:end],
            change[start:end],
            weight[start:end],
            doubt[start:end],
        )
        for i in range(count):
            meets = own[i] - (share * score[i]) * moved[i]
            out[i] = meets * m[i] + abs(meets) * r[i]
        start += count


@njit(cache=True, nogil=True)
def pull_of_cells(found: Any, derivative: Any, u_cells: Any, ranks: Any) -> None:
    """Multiply what each cell meets of a direction with the derivative of its variant."""
    start = 0
    for count in ranks:
        out, met = found[start : start + count], u_cells[start : start + count]
        for i in range(count):
            out[i] = derivative[i] * met[i]
        start += count


@njit(cache=True, nogil=True)
def choose_share(
    share: float, margin: float, score: Any, s0: Any, s1: Any, first: Any, last: Any,
    least: Any, chosen_first: Any, chosen_last: Any, chosen_slope: Any, rectangle: Any,
) -> None:  # fmt: skip
    """Take a share where it bounds a variant better than those before, along the chord of a piece."""
    for v in range(len(score)):
        slope = share * score[v]
        move0, move1 = slope * s0[v], slope * s1[v]
        on_chord = larger(first[v] + move0, last[v] + move1)
        is_better = on_chord + margin * abs(on_chord) < least[v]
        least[v] = on_chord if is_better else least[v]
        chosen_first[v] = first[v] if is_better else chosen_first[v]
        chosen_last[v] = last[v] if is_better else chosen_last[v]
        chosen_slope[v] = slope if is_better else chosen_slope[v]
        rectangle[v] = lesser(rectangle[v], larger(first[v], last[v]) + larger(move0, move1))


@njit(cache=True, nogil=True)
def over_part(
    result: Any, before: Any, after: Any, below: Any, above: Any, falling: Any, rising: Any
) -> None:  # fmt: skip
    """Bound each variant's term over one part of a piece (Lemma 24), and go on to the next part."""
    for v in range(len(result)):
        drop = falling[v] * below[v] if below[v] > 0.0 else 0.0
        lift = rising[v] * above[v] if above[v] > 0.0 else 0.0
        result[v] = larger(result[v], larger(before[v], after[v]) + larger(drop, lift))
        before[v] = after[v]


@njit(cache=True, nogil=True)
def take_larger(
    best: Any, place: Any, at_slope: Any, result: Any, rectangle: Any, slope: Any, piece: int, margin: float
) -> None:
    """Take the bound of a piece where it is larger than those before, and take note of where that is."""
    for v in range(len(best)):
        largest = lesser(result[v], rectangle[v])
        is_larger = largest - margin * abs(largest) > best[v]
        place[v] = piece if is_larger else place[v]
        at_slope[v] = slope[v] if is_larger else at_slope[v]
        best[v] = larger(best[v], largest)


@njit(cache=True, nogil=True)
def at_point(
    part: Any, rest: Any, steep: Any, doubts: Any, derivative: Any, along: Any
) -> None:  # fmt: skip
    """Add what does not depend on the cells, at one point of the graph."""
    for v in range(len(part)):
        part[v] += (rest[v] + steep[v] * doubts[v]) - derivative[v] * along[v]


@njit(cache=True, nogil=True)
def begin_piece(least: Any, first: Any, last: Any, slope: Any, rectangle: Any, result: Any) -> None:
    """Forget the piece before."""
    for v in range(len(least)):
        least[v] = first[v] = last[v] = slope[v] = rectangle[v] = np.inf
        result[v] = -np.inf


@njit(cache=True, nogil=True)
def along_chord(found: Any, at: Any, slope: Any, score: Any) -> None:
    """Bound each variant's term at an end of a piece."""
    for v in range(len(found)):
        found[v] = at[v] + slope[v] * score[v]


@njit(cache=True, nogil=True)
def between_ends(
    found: Any, first: Any, last: Any, slope: Any, score: Any, share: Any, away: Any, steep: Any
) -> None:  # fmt: skip
    """Bound each variant's term at a point between the ends of a piece."""
    for v in range(len(found)):
        mean = first[v] + share[v] * (last[v] - first[v])
        found[v] = mean + steep[v] * away[v] + slope[v] * score[v]


@njit(cache=True, nogil=True)
def variant_maxima(
    shares: Any, margin: float, score: Any, along: Any, falling: Any, rising: Any, steepness: Any, fixed: Any,
    cells: Any, u_cells: Any, cell_lower: Any, cell_upper: Any, weight: Any, doubt: Any, ranks: Any,
    level_variant: Any, own_at: Any, change_at: Any, n_levels: Any, own: Any, change: Any,
    scores: Any, middle: Any, radius: Any, below_chord: Any, above_chord: Any, finer: int,
    between_share: Any, between_away: Any, best: Any, place: Any, at_slope: Any,
) -> None:  # fmt: skip
    """Bound the terms of all variants from above, for each direction; see `compiled.VariantInputs`."""
    n_shares, n_directions, n = fixed.shape
    ends, pull = np.empty((2 * n_shares, cells.shape[1])), np.empty(cells.shape[1])
    at_ends, numbers = np.empty((2, n_shares, n)), np.empty((8, n))
    least, first, last, result = numbers[0], numbers[1], numbers[2], numbers[3]
    rectangle, before, after, slope = numbers[4], numbers[5], numbers[6], numbers[7]
    for k in range(n_directions):
        for v in range(n):
            best[k, v] = -np.inf
        for s in range(n_shares):
            turned_cells(ends[2 * s], cells[k], shares[s], score[k], cell_lower, weight, doubt, ranks)
            turned_cells(ends[2 * s + 1], cells[k], shares[s], score[k], cell_upper, weight, doubt, ranks)
        for end in range(0, len(scores), finer):
            at_first, at_last = at_ends[(end // finer + 1) % 2], at_ends[end // finer % 2]
            pull_of_cells(pull, middle[end], u_cells[k], ranks)
            for s in range(n_shares):
                add_cells(at_last[s], ends[2 * s], ends[2 * s + 1], pull, cell_lower, cell_upper, ranks)
                at_point(at_last[s], fixed[s, k], steepness[k], radius[end], middle[end], along[k])
                if len(level_variant):
                    levels = level_variant, own_at, change_at, n_levels
                    add_levels(at_last[s], middle[end], own[s, k], change[k], *levels)
            if end == 0:
                continue
            piece = end - finer
            begin_piece(least, first, last, slope, rectangle, result)
            for s in range(n_shares):
                choose_share(
                    shares[s], margin, score[k], scores[piece], scores[end], at_first[s], at_last[s],
                    least, first, last, slope, rectangle,
                )  # fmt: skip
            along_chord(before, first, slope, scores[piece])
            for part in range(finer):
                at = piece + part
                if part < finer - 1:
                    share, away = between_share[piece // finer, part], between_away[piece // finer, part]
                    between_ends(after, first, last, slope, scores[at + 1], share, away, steepness[k])
                else:
                    along_chord(after, last, slope, scores[end])
                over_part(result, before, after, below_chord[at], above_chord[at], falling[k], rising[k])
            take_larger(best[k], place[k], at_slope[k], result, rectangle, slope, piece, margin)
