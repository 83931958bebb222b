"""Row sums of a direction in exact rationals, from the statements of sec-row-sums, for multipliers that are given.

Floats by definition are the multipliers, the table, the ends of ranges, the points of graphs (lem-chords) and the
heights of lines (lem-complete-row), which have tests of their own. Nothing is shared with the kernel but the shares
that it tries.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import fmpq

from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.units import Units
from ipub.certificates.row_sums.variants import Level
from support.oracles.rationals import exact_dot, rational, rationals
from support.row_sums import Sums

SHARES = tuple(rational(share) for share in (0.0, 0.33, 0.67, 1.0, 1.25, 1.5))
FIRST = 3
ALL_DIFFER = 16
"""Where a variant allows so many units of a group, all of them may differ."""

Line = tuple[fmpq, fmpq]
"""A function ``a - p b`` of a derivative p."""


class ExactBounds(NamedTuple):
    """Exact bounds of one direction: any of them is one."""

    best: fmpq
    """With the best of all shares."""
    helpful: fmpq
    """With those that help one after the other."""
    first: fmpq
    """With one share alone."""
    size: fmpq
    """The sum of the sizes of what they are made of: what rounding is relative to."""


class ExactSums:
    """Exact row sums over ranges."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges, self.table = ranges, ranges.table
        self.low, self.high = rationals(ranges.weight_lower), rationals(ranges.weight_upper)
        self.rows = [rationals(row) for row in self.table.incomplete]
        self.complete = [rationals(row) for row in self.table.complete]

    def bounds(self, y: np.ndarray, sums: Sums, k: int) -> ExactBounds:
        """Return the bound of a direction."""
        u, zeta, table = rationals(sums.u[k]), rationals(sums.zeta[k]), self.table
        left = [a - rational(lam) * b for a, lam, b in zip(rationals(y), table.lam, u, strict=True)]
        largest = [max(abs(a), abs(b)) for a, b in zip(self.low, self.high, strict=True)]
        size = exact_dot([abs(a - b) + abs(a) for a, b in zip(rationals(y), left, strict=True)], largest)
        total = fmpq(0)
        for i, x in enumerate(self.complete):
            m, line = rational(table.complete_weight[i]), int(sums.line[k, i])
            slope, above, below = (
                rational(values[line, i])
                for values in (self.ranges.lines.slope, self.ranges.lines.above, self.ranges.lines.below)
            )
            c = exact_dot(x, u)
            total += m * (c * above if c > 0 else -c * below)
            heights = abs(above) + abs(below) + abs(slope) * exact_dot([abs(cell) for cell in x], largest)
            size += m * heights * sum(map(abs, x), fmpq(0)) * sum(map(abs, u), fmpq(0))
            left = [a - m * slope * c * cell for a, cell in zip(left, x, strict=True)]
        results = [total] * 3
        gains: list[list[list[fmpq]]] = [[[] for _ in table.budget] for _ in range(3)]
        starts, at = table.unit_starts, 0
        for i, x in enumerate(self.rows):
            m, z = rational(table.incomplete_weight[i]), rational(sums.z[k, i])
            left = [a - m * z * cell for a, cell in zip(left, x, strict=True)]
            size += m * abs(z) * exact_dot([abs(cell) for cell in x], largest)
            points, here = self.ranges.points, list(self._variants(i))
            pulls = (np.abs(points.middle[:, here]) + points.radius[:, here]).max()
            size += m * rational(pulls) * sum(map(abs, x), fmpq(0)) * sum(map(abs, u), fmpq(0))
            own: list[list[fmpq]] = []
            for unit in range(starts[i], starts[i + 1]):
                columns = columns_of(table.units, unit)
                own.append(zeta[at : at + len(columns)])
                at += len(columns)
                for column, value in zip(columns, own[-1], strict=True):
                    left[column] -= m * value
                    size += m * abs(value) * largest[column]
            for number, terms in enumerate(self.row_terms(i, starts[i], z, own, u)):
                base, steps = majorants(self._uses(i), terms, len(table.budget), is_least=number == 0)
                results[number] += m * base
                size += m * max(map(abs, terms))
                for group, each in enumerate(steps):
                    gains[number][group] += [m * step for step in each]
        for number in range(3):
            for group, most in enumerate(table.budget):
                results[number] += sum(sorted(gains[number][group], reverse=True)[:most], fmpq(0))
        rest = sum((max(r * lo, r * hi) for r, lo, hi in zip(left, self.low, self.high, strict=True)), fmpq(0))
        tilt = table.gradient_upper if self.ranges.on_path else np.zeros(len(u))
        around = [rational(a) + rational(b) for a, b in zip(tilt, table.settled.radius, strict=True)]
        rest += sum((abs(a) * b for a, b in zip(u, around, strict=True)), fmpq(0))
        rest -= exact_dot(u, rationals(table.settled.middle))
        size += abs(rest) + sum((abs(a) * abs(b) for a, b in zip(left, largest, strict=True)), fmpq(0))
        best, helpful, first = (each + rest for each in results)
        return ExactBounds(best, helpful, first, size)

    def _variants(self, i: int) -> range:
        row = self.ranges.variants.row
        return range(int(np.searchsorted(row, i)), int(np.searchsorted(row, i + 1)))

    def _uses(self, i: int) -> list[tuple[int, ...]]:
        return [tuple(int(q) for q in self.ranges.variants.used[v]) for v in self._variants(i)]

    def row_terms(
        self, i: int, start: int, z: fmpq, zeta: list[list[fmpq]], u: list[fmpq]
    ) -> tuple[list[fmpq], list[fmpq], list[fmpq]]:
        """Bound the terms of a row's variants in three ways (lem-incomplete-row)."""
        tables = [[self._pieces(i, v, start, z, zeta, u, share) for share in SHARES] for v in self._variants(i)]
        best = [max(map(min, zip(*pieces, strict=True))) for pieces in tables]
        first = [max(pieces[FIRST]) for pieces in tables]
        return best, self._helpful(i, tables, first), first

    def _helpful(self, i: int, tables: list[list[list[fmpq]]], first: list[fmpq]) -> list[fmpq]:
        """Improve the largest of the variants with the same use, share by share on either side of the first."""
        uses, found, is_done = self._uses(i), list(first), [False] * len(first)
        groups = self.table.units.group[self.table.units.row == i]
        for v, use in enumerate(
            uses
        ):  # where nothing differs the score is that of the center, which is the first share
            is_done[v] = all(g >= 0 and use[g] == 0 for g in groups)
        while True:
            open_ones = [
                v
                for v in range(len(found))
                if not is_done[v] and all(found[o] <= found[v] for o in range(len(found)) if uses[o] == uses[v])
            ]
            if not open_ones:
                return found
            v = open_ones[0]
            pieces = tables[v][FIRST]
            for side in (range(FIRST - 1, -1, -1), range(FIRST + 1, len(SHARES))):
                for share in side:
                    pieces = [min(a, b) for a, b in zip(pieces, tables[v][share], strict=True)]
                    helps, found[v] = max(pieces) < found[v], max(pieces)
                    if not helps:
                        break
            is_done[v] = True

    def _pieces(
        self, i: int, v: int, start: int, z: fmpq, zeta: list[list[fmpq]], u: list[fmpq], share: fmpq
    ) -> list[fmpq]:
        """Bound the term of a variant over each piece of its scores, for one share (lem-incomplete-row)."""
        ranges, points, x, units = self.ranges, self.ranges.points, self.rows[i], self.table.units
        slope, along = share * z, exact_dot(x, u)
        ends = [(1 - share) * z * rational(end) for end in (ranges.row_lower[i], ranges.row_upper[i])]
        lines: list[list[Line]] = []  # of the free units
        least = most = along
        of_groups: dict[int, list[tuple[fmpq, list[Line]]]] = {}
        group = self.table.dropped_group
        of_penalty = self._of_penalty(u) if group >= 0 and ranges.variants.used[v, group] else fmpq(0)
        for number, own in enumerate(zeta):
            unit, entry = start + number, int(ranges.variants.units[v]) + number
            here, changes = self._unit_lines(unit, entry, slope, own, u)
            group, base = int(units.group[unit]), self._worst(own, columns_of(units, unit))
            if group < 0:
                lines.append(here)
            else:  # how far it reaches is taken as if it could differ, whatever its budget is
                changes = [fmpq(0), *changes]
                of_groups.setdefault(group, []).append((base, here))
            least, most = least + min(changes), most + max(changes)
        falling, rising = max(most, fmpq(0)), max(-least, fmpq(0))

        def phi(p: fmpq) -> fmpq:
            value = of_penalty + max(ends) - p * along
            value += sum((max(a - p * b for a, b in each) for each in lines), fmpq(0))
            for group, members in of_groups.items():
                used = int(ranges.variants.used[v, group])
                gains = sorted((max(max(a - p * b for a, b in here) - base, fmpq(0)) for base, here in members))[::-1]
                value += sum((base for base, _ in members), fmpq(0))
                value += sum(gains if used >= ALL_DIFFER else gains[:used], fmpq(0))
            return value

        finer = points.finer
        at_end = [
            phi(rational(points.middle[e, v])) + max(falling, rising) * rational(points.radius[e, v])
            for e in range(0, len(points.score), finer)
        ]
        found = []
        for piece, (before, after) in enumerate(pairwise(at_end)):
            values = [before]
            for inner in range(finer - 1):
                theta, away = (rational(each[piece, inner, v]) for each in points.between)
                values.append((1 - theta) * before + theta * after + max(falling, rising) * away)
            values.append(after)
            moves = [slope * rational(points.score[piece * finer + e, v]) for e in range(finer + 1)]
            chords = []
            for part in range(finer):
                off = max(
                    falling * rational(points.below_chord[piece * finer + part, v]),
                    rising * rational(points.above_chord[piece * finer + part, v]),
                )
                chords.append(max(values[part] + moves[part], values[part + 1] + moves[part + 1]) + off)
            rectangle = max(before, after) + max(moves[0], moves[-1])
            found.append(min(max(chords), rectangle))
        return found

    def _of_penalty(self, u: list[fmpq]) -> fmpq:
        """Bound what the penalty adds to the term of a row that is absent (lem-absent-row)."""
        total = fmpq(0)
        for b, lam, kappa, low, high in zip(u, self.table.lam, self.table.kappa, self.low, self.high, strict=True):
            slope = rational(lam) * b
            total += max(slope * low, slope * high)
            least, most = (rational(kappa) * sign for sign in (1 if low > 0 else -1, -1 if high < 0 else 1))
            total += max(b * least, b * most)
        return total

    def _unit_lines(
        self, unit: int, entry: int, slope: fmpq, zeta: list[fmpq], u: list[fmpq]
    ) -> tuple[list[Line], list[fmpq]]:
        """Return what a unit adds to a term for each of its outermost options, as functions of p, and ``d.u``."""
        units, variants = self.table.units, self.ranges.variants
        columns = columns_of(units, unit)
        if units.category[unit] < 0:
            changes = [[rational(end)] for end in (variants.lower[entry], variants.upper[entry])]
        else:
            n, base, level = len(columns), int(units.base[unit]), int(variants.level[entry])
            center = [fmpq(each == base) if base >= 0 else rational(1.0 / n) for each in range(n)]
            if level == Level.BASE:
                changes = [[fmpq(0)] * n]
            else:
                chosen = range(n) if level == Level.ANY else (level,)
                changes = [[fmpq(each == c) - center[each] for each in range(n)] for c in chosen]
        lines, pulls = [], []
        for change in changes:
            meets = [a - slope * b for a, b in zip(zeta, change, strict=True)]
            pulls.append(sum((b * u[column] for b, column in zip(change, columns, strict=True)), fmpq(0)))
            lines.append((self._worst(meets, columns), pulls[-1]))
        return lines, pulls

    def _worst(self, meets: Sequence[fmpq], columns: Sequence[int]) -> fmpq:
        """Return the greatest value of a combination of weights in their ranges."""
        return sum((max(a * self.low[j], a * self.high[j]) for a, j in zip(meets, columns, strict=True)), fmpq(0))


def columns_of(units: Units, unit: int) -> list[int]:
    """Return the columns that a unit meets."""
    category = int(units.category[unit])
    return [int(units.column[unit])] if category < 0 else [int(j) for j in units.levels[category]]


def majorants(
    uses: list[tuple[int, ...]], terms: list[fmpq], n_groups: int, *, is_least: bool
) -> tuple[fmpq, list[list[fmpq]]]:
    """Return a row's term with no budget used, and the steps of a concave function of each group: what units gain.

    The functions together are at least the gain of every variant, for the least numbers of units that it stands for;
    group after group, each as small as those before it allow; or, if it is not to be the least, where so many units
    lose, what the next number gains.
    """
    base = max(term for use, term in zip(uses, terms, strict=True) if not any(use))
    tiers = [sorted({min(use[g], ALL_DIFFER) for use in uses}) for g in range(n_groups)]
    functions: list[list[fmpq]] = []
    for g in range(n_groups):
        points = {0: fmpq(0)}
        for use, term in zip(uses, terms, strict=True):
            if use[g] and not any(use[g + 1 :]):
                before = sum((functions[h][_least(tiers[h], use[h])] for h in range(g)), fmpq(0))
                q = min(use[g], ALL_DIFFER)
                points[q] = max(points.get(q, term - base - before), term - base - before)
        for q in range(max(points), 0, -1):  # a number that was not looked at gains no more than the next that was
            if q not in points or (points[q] < 0 and q < max(points) and not is_least):
                points[q] = points[q + 1]
            points[q] = max(points[q], fmpq(0))
        functions.append(_concave([points[q] for q in range(max(points) + 1)]))
        functions[-1] += [functions[-1][-1]] * (ALL_DIFFER + 1 - len(functions[-1]))
    return base, [[b - a for a, b in pairwise(function) if b > a] for function in functions]


def _least(tiers: list[int], used: int) -> int:
    """Return the least number of units for which a tier stands."""
    below = [tier for tier in tiers if tier < min(used, ALL_DIFFER)]
    return below[-1] + 1 if used else 0


def _concave(values: list[fmpq]) -> list[fmpq]:
    """Return the least concave function that does not fall and is nowhere below some values."""
    result = []
    for q in range(len(values)):
        best = max(values[: q + 1])
        for a in range(q):
            for b in range(q + 1, len(values)):
                share = fmpq(q - a, b - a)
                best = max(best, (1 - share) * values[a] + share * values[b])
        result.append(best)
    return result
