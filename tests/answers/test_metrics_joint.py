"""Joint ranges of metrics: compared with every model of a given set, exactly; lines with the curves they are above."""

import itertools

import numpy as np
import pytest

from ipub.answers.metrics.conflicts import conflicting, most_together
from ipub.answers.metrics.joint import Joint, LinearForms, rounded_to_unit
from ipub.answers.metrics.known_metrics import (
    LOSSES_OF_TARGETS,
    LOSSES_OF_TWO_CLASSES,
    OF_TARGETS,
    OF_TWO_CLASSES,
)
from ipub.answers.metrics.lines import KnownScores, Lines, above_step, below_step
from ipub.answers.metrics.metric import Ends
from ipub.answers.metrics.near_scores import NearScores
from ipub.answers.metrics.ways import InBoxes
from ipub.tables.missing_category import NOTHING_MISSING, Levels, MissingCategories
from ipub.training.training import ExtendedRows

OF_CLASSES = {**OF_TWO_CLASSES, **LOSSES_OF_TWO_CLASSES}
OF_NUMBERS = {**OF_TARGETS, **LOSSES_OF_TARGETS}
PARTS = 64.0
"""Numbers are multiples of 1/64: their sums and products are exact."""


def exact(values):
    return np.round(PARTS * values) / PARTS


def numbers(rng, size, most=2.0):
    return exact(rng.uniform(-most, most, size=size))


def models(rng, d, n=40):
    """Draw a cloud of models with a few directions in which most of them differ."""
    moves = rng.uniform(-0.25, 0.25, size=(n, 2)) @ rng.normal(size=(2, d))
    return exact(rng.uniform(-2.0, 2.0, size=d) + moves + 0.02 * rng.normal(size=(n, d)))


def joint(W, X, y, cells=None, missing=NOTHING_MISSING, ends=None, retrained=None):
    """Return the joint way of rows under models W, whose certificate is the exact range of each direction."""
    nowhere = np.zeros(0, dtype=np.intp)
    rows = ExtendedRows(X, cells or (nowhere, nowhere, np.zeros(0)), missing)
    if ends is None:
        scores = X @ W.T
        ends = np.column_stack([scores.min(axis=1), scores.max(axis=1)])

    def bounds_of(directions):
        found = directions @ W.T
        slack = 1e-14 * (1.0 + np.abs(directions) @ np.abs(W).max(axis=0))
        return np.column_stack([found.min(axis=1) - slack, found.max(axis=1) + slack])

    weights = np.column_stack([W.min(axis=0), W.max(axis=0)])
    near = NearScores(X @ W.mean(axis=0), *ends.T, y, retrained)
    return Joint(InBoxes(*ends.T, y), LinearForms(bounds_of, rows, weights, X.shape[1]), near, 10_000)


def values_of(metric, scores, y):
    low, high = metric.ends(scores[None], scores[None], y)
    return float(low[0]), float(high[0])


def labels(rng, m, makes):
    return np.array([0.0, 1.0, *rng.integers(0, 2, m - 2)]) if makes is OF_CLASSES else numbers(rng, m)


@pytest.mark.parametrize("makes", [OF_CLASSES, OF_NUMBERS], ids=["classes", "numbers"])
@pytest.mark.parametrize("seed", range(6))
def test_no_model_of_the_set_leaves_a_range_and_ranges_are_narrower_than_row_by_row(makes, seed):
    rng = np.random.default_rng(seed)
    W, X = models(rng, 4), numbers(rng, (30, 4))
    y = labels(rng, 30, makes)
    way, all_rows = joint(W, X, y), np.arange(30)
    groups = np.array_split(rng.permutation(30), 2)
    n_narrower = 0
    for name, make in makes.items():
        metric = make(name)
        rows_of = [each for each in (all_rows, *groups) if not metric.undefined(y[each])]
        for rows in rows_of:
            ends, alone = way.of_group(metric, rows), way.boxes.of_group(metric, rows)
            assert alone.lower <= ends.lower <= ends.upper <= alone.upper
            n_narrower += ends.upper - ends.lower < 0.9 * (alone.upper - alone.lower)
            for scores in W @ X[rows].T:
                least, most = values_of(metric, scores, y[rows])
                assert ends.lower <= most, name
                assert least <= ends.upper, name
        if len(rows_of) == 3:
            difference, ratio = (of(metric, *groups) for of in (way.of_difference, way.of_ratio))
            for scores in W @ X.T:
                (a, b), (c, d) = (values_of(metric, scores[rows], y[rows]) for rows in groups)
                assert difference.lower <= b - c + 1e-15, name
                assert a - d <= difference.upper + 1e-15, name
                if metric.is_rate and c > 0.0:
                    assert ratio.lower <= b / c
                    assert a / d <= ratio.upper
    assert n_narrower >= (5 if makes is OF_CLASSES else 3)


def test_a_difference_of_groups_is_narrower_than_the_difference_of_their_ranges():
    rng = np.random.default_rng(0)
    W, X = models(rng, 3), numbers(rng, (40, 3))
    X[20:] = X[:20] + 0.125  # the groups hardly differ: what moves one moves the other
    y = np.tile(X[:20] @ W[0] > 0.0, 2).astype(float)
    way = joint(W, X, y)
    first, second = np.arange(20), np.arange(20, 40)
    for name in ("log_loss", "brier_score"):
        metric = OF_CLASSES[name](name)
        one, other = (way.of_group(metric, rows) for rows in (first, second))
        ends = way.of_difference(metric, first, second)
        assert ends.upper - ends.lower < 0.6 * (one.upper - one.lower + other.upper - other.lower)


@pytest.mark.parametrize("seed", range(4))
def test_missing_values_of_the_rows_themselves_take_any_value(seed):
    rng = np.random.default_rng(seed)
    W, X, y = models(rng, 6, 12), numbers(rng, (8, 6)), np.array([0.0, 1.0] * 4)
    X[:, 3:] = np.eye(3)[rng.integers(0, 3, 8)]
    missing = MissingCategories(np.array([5, 6]), np.array([0, 0]), (Levels(np.arange(3, 6)),))
    center = X.copy()
    missing.put(center)
    cells = np.array([0, 0, 2, 5]), np.array([0, 1, 2, 0]), np.array([0.5, 0.25, 1.0, 0.5])
    filled = []
    for signs, kinds in itertools.product(
        itertools.product((-1.0, 1.0), repeat=4), itertools.product(range(3), repeat=2)
    ):
        each = X.copy()
        each[[5, 6], 3:] = np.eye(3)[list(kinds)]
        each[cells[0], cells[1]] += np.array(signs) * cells[2]
        filled.append(each)
    scores = np.array([each @ W.T for each in filled])  # (n_fillings, m, n_models)
    ends = np.column_stack([scores.min(axis=(0, 2)), scores.max(axis=(0, 2))])
    way, rows = joint(W, center, y, cells, missing, ends), np.arange(8)
    n_narrower = 0
    for name, make in OF_CLASSES.items():
        found, alone = way.of_group(make(name), rows), way.boxes.of_group(make(name), rows)
        n_narrower += found.upper - found.lower < alone.upper - alone.lower
        for each in scores.transpose(0, 2, 1).reshape(-1, 8)[::3]:
            least, most = values_of(make(name), each, y)
            assert found.lower <= most, name
            assert least <= found.upper, name
    assert n_narrower > 0


def test_rows_of_which_nothing_is_known_leave_a_range_as_it_is_row_by_row():
    rng = np.random.default_rng(0)
    W, X, y = models(rng, 3), numbers(rng, (12, 3)), np.array([0.0, 1.0] * 6)
    ends = np.column_stack([(X @ W.T).min(axis=1), (X @ W.T).max(axis=1)])
    ends[3] = -np.inf, np.inf
    way = joint(W, X, y, ends=ends)
    for name, make in OF_CLASSES.items():
        found, alone = way.of_group(make(name), np.arange(12)), way.boxes.of_group(make(name), np.arange(12))
        assert alone.lower <= found.lower <= found.upper <= alone.upper, name
        if name.endswith(("loss", "score")):
            assert found.upper == (np.inf if name == "log_loss" else found.upper)
            assert found.lower > alone.lower  # the others still move together


def test_unknown_labels_are_taken_row_by_row():
    rng = np.random.default_rng(1)
    W, X, y = models(rng, 3), numbers(rng, (12, 3)), np.array([0.0, 1.0, np.nan] * 4)
    way = joint(W, X, y)
    for name, make in OF_CLASSES.items():
        if name == "roc_auc":
            continue
        found = way.of_group(make(name), np.arange(12))
        for known in itertools.product((0.0, 1.0), repeat=4):
            given = np.where(np.isnan(y), np.repeat(known, 3), y)
            for scores in W[::4] @ X.T:
                least, most = values_of(make(name), scores, given)
                assert found.lower <= most, name
                assert least <= found.upper, name


# --- lines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_line_is_on_its_side_of_a_step_everywhere_in_its_interval(seed):
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.normal(size=(2, 50)) * 10.0 ** rng.uniform(-120, 3, 50), axis=0)
    low[:3], high[3:6] = 0.0, 0.0
    low, high = np.minimum(low, high), np.maximum(low, high)
    at = rng.uniform(low, high)
    for lines, side in ((above_step, 1.0), (below_step, -1.0)):
        offset, slope = lines(low, high, at)
        assert (slope >= 0.0).all()
        for t in (low, high, at, 0.5 * low, 0.5 * high, np.clip(0.0, low, high)):
            steps = [t >= 0.0] if side > 0.0 else [t > 0.0]
            for step in steps:
                # one rounding of the product, none of the sum
                assert (side * (offset + slope * t - step) >= -2e-16).all()
    sloped = (low < -1e-99) & (high > 0.0) & (at < 0.0)
    assert np.allclose((1.0 + above_step(low, high, at)[1] * low)[sloped], 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["log_loss", "brier_score", "mean_squared_error", "mean_absolute_error"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_line_is_on_its_side_of_a_term_everywhere_in_its_interval(name, side, seed):
    rng = np.random.default_rng(seed)
    metric = {**LOSSES_OF_TWO_CLASSES, **LOSSES_OF_TARGETS}[name](name)
    y = rng.choice([0.0, 1.0], 1) if name in LOSSES_OF_TWO_CLASSES else rng.normal(size=1)
    for _ in range(60):
        # near the middle of the Brier score's concave part, too
        low, high = np.sort(rng.normal(scale=3.0, size=(2, 1)), axis=0)
        if rng.random() < 0.3:
            high = low + 10.0 ** rng.uniform(-12, -1)
        at = rng.uniform(low, high)
        lines = metric.lines(KnownScores(low, high, at, y, lambda a, b: (a, b)), side)
        grid = np.linspace(low[0], high[0], 201)
        least, most = metric.terms(grid, grid, np.repeat(y, 201))
        line = lines.offset + lines.slopes[0] * grid
        slack = 4e-16 * (1.0 + np.abs(lines.slopes[0] * grid) + abs(lines.offset))
        assert (side * (line - (least if side > 0.0 else most)) >= -slack).all()
        # and close to it: at both ends, or at the point, but for the width squared where a term is not convex
        points = np.array([low[0], high[0]] if side > 0.0 else [at[0]])
        gaps = side * (
            lines.offset + lines.slopes[0] * points - metric.terms(points, points, np.repeat(y, len(points)))[0]
        )
        assert max(gaps) <= (high[0] - low[0]) ** 2 * (name == "brier_score") + 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_of_items_that_conflict_in_pairs_only_one_counts(seed):
    rng = np.random.default_rng(seed)
    k = 9
    conflicts = np.triu(rng.random((k, k)) < rng.choice([0.2, 0.6, 0.9]), 1)
    conflicts, weight = conflicts | conflicts.T, rng.integers(1, 4, k).astype(float)
    sets = (np.array(each, dtype=bool) for each in itertools.product((False, True), repeat=k))
    most = max(weight[each].sum() for each in sets if not conflicts[np.ix_(each, each)].any())
    assert most <= most_together(conflicts, weight) <= weight.sum()
    everything = ~np.eye(k, dtype=bool)
    assert most_together(everything, weight) == weight.max()


@pytest.mark.parametrize("seed", range(5))
def test_rows_conflict_only_if_no_model_has_both_at_one_side(seed):
    rng = np.random.default_rng(seed)
    W, X = models(rng, 3, 60), numbers(rng, (30, 3))
    E = W @ X.T
    E = E[:, (E.min(axis=0) < 0.0) & (E.max(axis=0) >= 0.0)]
    low, high = E.min(axis=0), E.max(axis=0)
    found = conflicting(low, high, E[:1], lambda factors: (factors @ E.T).max(axis=1) + 1e-12, 7)
    together = ((E >= 0.0).astype(float).T @ (E >= 0.0)) > 0.0
    assert not (found & together).any()
    assert found.any()
    assert np.array_equal(found, found.T)


def test_rows_of_which_only_one_can_be_right_count_once():
    X = np.array([[1.0, 0.0, 1.0], [1.0, 0.125, -1.0], [-1.0, 0.0, 2.0], [1.0, 0.0, -2.0]])
    W = np.array([[a, b, 1.0] for a in (-1.5, -0.5, 0.5, 1.5) for b in (-1.0, 1.0)])
    y = np.array([0.0, 1.0, 1.0, 1.0])
    way, rows = joint(W, X, y), np.arange(4)
    accuracy = OF_CLASSES["accuracy"]("accuracy")
    right = [values_of(accuracy, scores, y) for scores in W @ X.T]
    found, alone = way.of_group(accuracy, rows), way.boxes.of_group(accuracy, rows)
    assert found.lower <= min(high for _, high in right)
    assert max(low for low, _ in right) <= found.upper < alone.upper


@pytest.mark.parametrize("name", ["balanced_accuracy", "f1", "precision"])
@pytest.mark.parametrize("seed", range(5))
def test_what_follows_from_counts_is_what_all_counts_in_their_ranges_give(name, seed):
    rng = np.random.default_rng(seed)
    n_positive, n_negative = rng.integers(1, 8, 2)
    y = np.repeat([1.0, 0.0], [n_positive, n_negative])
    tp, tn = np.sort(rng.integers(0, n_positive + 1, 2)), np.sort(rng.integers(0, n_negative + 1, 2))
    right = np.array([max(tp[0] + tn[0], tp[1] + tn[1] - 3), tp[1] + tn[1] - 1 + (tp[0] == tp[1])])
    right = np.sort(np.minimum(right, tp[1] + tn[1]))
    ranges = {"recall": (tp, n_positive), "specificity": (tn, n_negative), "accuracy": (right, len(y))}

    def ends_of(metric):
        (low, high), n = ranges[metric.name]
        return Ends(float(np.nextafter(low / n, -1.0)), float(np.nextafter(high / n, 2.0)))

    metric = OF_CLASSES[name](name)
    found, values = metric.from_others(ends_of, y), []
    for a, b in itertools.product(range(tp[0], tp[1] + 1), range(tn[0], tn[1] + 1)):
        if right[0] <= a + b <= right[1]:
            predicted = np.r_[np.arange(n_positive) < a, np.arange(n_negative) >= b]
            values.append(values_of(metric, np.where(predicted, 1.0, -1.0), y))
    if values:
        assert found == (min(low for low, _ in values), max(high for _, high in values))


def test_what_is_a_multiple_of_a_unit_is_rounded_to_one():
    lines = Lines(0.0, np.zeros(1), np.zeros(1), divisor=7.0, unit=1.0)
    assert 3.0 / 7.0 <= rounded_to_unit(3.9 / 7.0, lines) < 3.0 / 7.0 + 1e-15
    assert rounded_to_unit(3.0 / 7.0, lines) >= 3.0 / 7.0
    assert -4.0 / 7.0 <= rounded_to_unit(-3.1 / 7.0, lines) < -4.0 / 7.0 + 1e-15
    assert rounded_to_unit(0.3, lines._replace(unit=0.0)) == 0.3
    assert rounded_to_unit(np.inf, lines) == np.inf
