"""One rule says whether a prediction is certain, and everything that shows predictions uses it."""

import ast
from pathlib import Path

import numpy as np
import pytest

import benchmarks
import ipub
from ipub import BoundedClassifier, penalty_path
from ipub.answers.certainty import is_certain, possible_labels
from ipub.plots import plot_bounds


@pytest.mark.parametrize(
    ("bounds", "labels"),
    [
        ((0.5, 1.0), [False, True]),
        ((-1.0, -0.5), [True, False]),
        ((5e-324, 1.0), [False, True]),
        ((-1.0, 1.0), [True, True]),
        ((0.0, 1.0), [True, True]),
        ((-1.0, 0.0), [True, True]),
        ((0.0, 0.0), [True, True]),
        ((1.0, np.inf), [True, True]),
        ((np.inf, np.inf), [True, True]),
        ((-np.inf, -1.0), [True, True]),
        ((np.nan, 1.0), [True, True]),
        ((1.0, np.nan), [True, True]),
        ((np.nan, np.nan), [True, True]),
    ],
)
def test_a_tie_and_bounds_that_are_not_finite_leave_both_labels_possible(bounds, labels):
    assert possible_labels(np.array([bounds])).tolist() == [labels]
    assert is_certain(np.array([bounds])).tolist() == [sum(labels) == 1]


@pytest.mark.parametrize(
    ("bounds", "labels"),
    [
        ([(1.0, 2.0), (-1.0, 0.5), (-2.0, -1.0)], [True, False, False]),
        ([(1.0, 2.0), (-1.0, 1.0), (-2.0, -1.0)], [True, True, False]),
        ([(1.0, 2.0), (-1.0, np.nan), (-2.0, -1.0)], [True, True, False]),
        ([(1.0, np.inf), (-1.0, 0.5), (-2.0, -1.5)], [True, True, False]),
        ([(np.nan, np.nan)] * 3, [True, True, True]),
    ],
)
def test_of_several_labels_those_behind_another_one_are_ruled_out(bounds, labels):
    assert possible_labels(np.array([bounds])).tolist() == [labels]
    assert is_certain(np.array([bounds])).tolist() == [sum(labels) == 1]


@pytest.mark.parametrize(("bounds", "certain"), [((0.5, 0.7), False), ((0.50001, 0.7), True), ((0.2, 0.5), False)])
def test_another_threshold_has_the_same_rule(bounds, certain):
    assert is_certain(np.array([bounds]), 0.5).tolist() == [certain]


def test_sets_paths_and_plots_count_the_same_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] > 0.5 * rng.normal(size=200)
    X[:40, 2] = np.nan
    path = penalty_path(BoundedClassifier(), X[:150], y[:150], X[150:], alphas=[0.3])
    clf = path.estimators[0]
    bounds = clf.decision_bounds(X[150:])
    certain = is_certain(bounds)
    assert 0 < certain.sum() < 50
    np.testing.assert_array_equal(certain, clf.predict_set(X[150:]).sum(axis=1) == 1)
    assert path.certain.tolist() == [certain.mean()]
    words = [text.get_text() for text in plot_bounds(bounds, bounds.mean(axis=1), threshold=0.0).get_legend().texts]
    assert any(word.endswith(f"({certain.sum()} rows)") for word in words)


def test_no_other_file_has_a_rule_of_its_own():
    """No other module compares both ends of bounds with a number, or counts the labels of a set."""
    for folder in (Path(ipub.__file__).parent, Path(benchmarks.__file__).parent):
        for path in folder.rglob("*.py"):
            if path.name in ("certainty.py", "demo.py"):  # the demo counts what fillings attain, which is no bound
                continue
            source = path.read_text()
            assert "sum(axis=1) == 1" not in source, path
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                    sides = [ast.unparse(side) for side in (node.left, node.right)]
                    assert not ("[:, 0] > " in sides[0] and "[:, 1] < " in sides[1]), path
