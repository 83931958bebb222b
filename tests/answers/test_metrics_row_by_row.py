"""Metrics over scores that are each in an interval: exact, by enumeration; and their values, by scikit-learn."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics as sk

from ipub.answers.metrics.known_metrics import (
    LOSSES_OF_CLASSES,
    LOSSES_OF_TARGETS,
    LOSSES_OF_TWO_CLASSES,
    OF_CLASSES,
    OF_TARGETS,
    OF_TWO_CLASSES,
)
from ipub.answers.metrics.metric import Negated
from ipub.answers.metrics.row_terms import variance_of
from ipub.losses.logistic import sigmoid

RATES = {name: make for name, make in OF_TWO_CLASSES.items() if name != "roc_auc"}
SEEDS = range(5)


def values_of(metric, scores, y):
    low, high = metric.ends(scores[None], scores[None], y)
    return low[0], high[0]


@pytest.mark.parametrize("distance", [1e-154, 1e-160, 1e-162, 1e-170, 5e-324])
@pytest.mark.parametrize("most", [0.0, 1e-160, 1.0])
def test_an_error_over_a_variance_that_underflows_has_no_bound(distance, most):
    y = np.array([0.0, distance])
    lower, upper = OF_TARGETS["r2"]("r2").of_error(np.array([0.0]), np.array([most]), y)
    exact = 1 - Fraction(most) / variance_of(y)
    assert lower[0] == -np.inf or Fraction(lower[0]) <= exact
    assert upper[0] >= 1.0


def boxes(rng, m, shape=()):
    # Whole numbers, without 0, which is a tie: many ties between rows.
    ends = rng.choice([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0], size=(2, m, *shape))
    return ends.min(axis=0), ends.max(axis=0)


def in_grid(low, high):
    """Yield scores of all rows, each at its ends or between."""
    choices = [sorted({a, b, *(c for c in (-1.5, 1.5, 2.0) if a < c < b)}) for a, b in zip(low, high, strict=True)]
    yield from map(np.array, itertools.product(*choices))


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", SEEDS)
def test_rates_of_two_classes_are_exact_with_unknown_labels_too(name, seed):
    rng = np.random.default_rng(seed)
    metric, m = OF_TWO_CLASSES[name](name), 6
    low, high = boxes(rng, m)
    y = np.array([0.0, 1.0, *rng.choice([0.0, 1.0, np.nan], size=m - 2)])
    lower, upper = metric.ends(low[None], high[None], y)
    unknown = np.flatnonzero(np.isnan(y))
    found = []
    for labels in itertools.product([0.0, 1.0], repeat=len(unknown)):
        known = y.copy()
        known[unknown] = labels
        for signs in itertools.product(*({np.sign(a), np.sign(b)} for a, b in zip(low, high, strict=True))):
            found.append(np.mean(values_of(metric, np.array(signs), known)))
    assert lower[0] <= min(found)
    assert max(found) <= upper[0]
    assert np.allclose([lower[0], upper[0]], [min(found), max(found)], atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_area_under_the_curve_is_exact_and_ties_count_half(seed):
    rng = np.random.default_rng(seed)
    metric, m = OF_TWO_CLASSES["roc_auc"]("roc_auc"), 4
    low, high = boxes(rng, m)
    y = np.array([0.0, 1.0, *rng.choice([0.0, 1.0], size=m - 2)])
    lower, upper = metric.ends(low[None], high[None], y)
    found = [sk.roc_auc_score(y, scores) for scores in in_grid(low, high)]
    assert lower[0] <= min(found) + 1e-15
    assert max(found) - 1e-15 <= upper[0]
    assert np.allclose([lower[0], upper[0]], [min(found), max(found)], atol=1e-14)


@pytest.mark.parametrize(
    ("makes", "labels"), [(LOSSES_OF_TWO_CLASSES, (0.0, 1.0)), (LOSSES_OF_TARGETS, (-1.5, 0.5, 2.0))]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_means_of_terms_are_exact(makes, labels, seed):
    rng = np.random.default_rng(seed)
    low, high = boxes(rng, 5)
    y = rng.choice(labels, size=5)
    ends = [np.array([low, high]), *([y] if len(labels) == 3 else [])]
    for name, make in makes.items():
        metric = make(name)
        lower, upper = metric.ends(low[None], high[None], y)
        # Each term by itself: at an end, or where the prediction is the target.
        corners = [np.clip(each, low, high) for each in ends for each in np.atleast_2d(each)]
        terms = np.array([[values_of(metric, corner[[i]], y[[i]])[0] for i in range(5)] for corner in corners])
        assert np.isclose(lower[0], terms.min(axis=0).mean(), rtol=1e-13)
        assert np.isclose(upper[0], terms.max(axis=0).mean(), rtol=1e-13)
        inside = rng.uniform(low, high, size=(200, 5))
        found = np.array([values_of(metric, scores, y) for scores in inside])
        assert (lower <= found[:, 1]).all()
        assert (found[:, 0] <= upper).all()


def test_an_unknown_label_has_the_loss_of_either():
    low, high = np.array([[-1.0, -2.0]]), np.array([[0.5, 2.0]])
    for name, make in LOSSES_OF_TWO_CLASSES.items():
        lower, upper = make(name).ends(low, high, np.array([np.nan, 1.0]))
        each = [make(name).ends(low, high, np.array([label, 1.0])) for label in (0.0, 1.0)]
        assert lower[0] == min(pair[0][0] for pair in each)
        assert upper[0] == max(pair[1][0] for pair in each)


@pytest.mark.parametrize("seed", SEEDS)
def test_metrics_of_three_classes_contain_every_choice_of_scores(seed):
    rng = np.random.default_rng(seed)
    m = 8
    middle = rng.normal(size=(m, 3))
    radius = rng.uniform(0.0, 0.8, size=(m, 3))
    y = np.array([0.0, 1.0, 2.0, *rng.choice([0.0, 1.0, 2.0], size=m - 3)])
    scores = rng.uniform(middle - radius, middle + radius, size=(400, m, 3))
    predicted, p = scores.argmax(axis=2), sigmoid(scores)
    p = p / p.sum(axis=2, keepdims=True)
    truth = {
        "accuracy": (predicted == y).mean(axis=1),
        "balanced_accuracy": np.array([sk.balanced_accuracy_score(y, each) for each in predicted]),
        "log_loss": np.array([sk.log_loss(y, each) for each in p]),
    }
    for name, make in {**OF_CLASSES, **LOSSES_OF_CLASSES}.items():
        lower, upper = make(name).ends((middle - radius)[None], (middle + radius)[None], y)
        assert (lower[0] <= truth[name] + 1e-12).all()
        assert (truth[name] - 1e-12 <= upper[0]).all()


def test_a_row_of_three_classes_with_one_open_label_counts_for_both():
    low, high = np.array([[[0.0, -1.0, -5.0], [2.0, -1.0, -5.0]]]), np.array([[[1.0, 0.5, -4.0], [3.0, 1.0, -4.0]]])
    accuracy = OF_CLASSES["accuracy"]("accuracy")
    assert np.allclose(np.ravel(accuracy.ends(low, high, np.array([0.0, 0.0]))), [0.5, 1.0])
    assert np.allclose(np.ravel(accuracy.ends(low, high, np.array([np.nan, np.nan]))), [0.0, 1.0])


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    scores, y = np.round(rng.normal(size=60), 1), rng.integers(0, 2, 60).astype(float)
    scores[scores == 0.0] = -0.1
    predicted, p = scores > 0.0, sigmoid(scores)
    expected = {
        "accuracy": sk.accuracy_score(y, predicted),
        "balanced_accuracy": sk.balanced_accuracy_score(y, predicted),
        "precision": sk.precision_score(y, predicted),
        "recall": sk.recall_score(y, predicted),
        "f1": sk.f1_score(y, predicted),
        "selection_rate": predicted.mean(),
        "roc_auc": sk.roc_auc_score(y, scores),
        "log_loss": sk.log_loss(y, p),
        "brier_score": sk.brier_score_loss(y, p),
    }
    for name, make in {**OF_TWO_CLASSES, **LOSSES_OF_TWO_CLASSES}.items():
        low, high = values_of(make(name), scores, y)
        assert low <= high
        assert np.allclose([low, high], expected[name], rtol=1e-13, atol=0.0), name
    target = rng.normal(size=60)
    expected = {
        "r2": sk.r2_score(target, scores),
        "mean_squared_error": sk.mean_squared_error(target, scores),
        "mean_absolute_error": sk.mean_absolute_error(target, scores),
    }
    for name, make in {**OF_TARGETS, **LOSSES_OF_TARGETS}.items():
        assert np.allclose(values_of(make(name), scores, target), expected[name], rtol=1e-12), name


def test_a_loss_with_its_sign_turned_has_its_ends_turned():
    low, high, y = np.array([[-1.0, 0.5]]), np.array([[1.0, 2.0]]), np.array([1.0, 0.0])
    loss = LOSSES_OF_TWO_CLASSES["log_loss"]("log_loss")
    lower, upper = loss.ends(low, high, y)
    assert Negated("neg_log_loss", loss).ends(low, high, y) == (-upper, -lower)


def test_rows_of_which_nothing_is_known_leave_every_metric_wide():
    low, high, y = np.full((1, 4), -np.inf), np.full((1, 4), np.inf), np.array([0.0, 1.0, 1.0, 0.0])
    for name, make in OF_TWO_CLASSES.items():
        assert [float(each[0]) for each in make(name).ends(low, high, y)] == [0.0, 1.0], name
    for name, make in {**LOSSES_OF_TWO_CLASSES, **LOSSES_OF_TARGETS}.items():
        lower, upper = make(name).ends(low, high, y)
        assert 0.0 <= lower[0] < 1e-100
        assert upper[0] >= 1.0, name
