"""Exact models that are remembered are those of the very problem that is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import fmpq

from ipub.losses import LOSSES, Huber, SmoothedHinge
from support.oracles import shared
from support.oracles.exact import ExactModel, exact_model
from support.oracles.rationals import rational_rows
from support.oracles.shared import computed_once, problem_name

X = np.array([[1.0, 0.1], [-0.3, 2.0], [0.5, 1e-200]])
Y = np.array([1.0, -1.0, 1.0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(shared, "_folder", tmp_path)
    return tmp_path


@pytest.mark.parametrize("kappa", [0.0, 0.05])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_another_worker_reads_the_same_model(loss_name, kappa, folder):
    first, second = (computed_once(ExactModel)(exact_model.__wrapped__) for _ in range(2))
    weight = np.array([1.0, 1e-3, 2.0])
    found = first(X, Y, weight, loss_name, 0.1, kappa)
    assert [path.name for path in folder.iterdir()] == [
        problem_name("exact_model", X, Y, weight, loss_name, 0.1, kappa)
    ]
    read = second(rational_rows(X), Y, weight, loss_name, 0.1, kappa)
    assert read is not found
    assert read == found
    assert isinstance(read.w[0], fmpq)


def test_an_oracle_that_is_asked_twice_computes_once(folder):
    asked = []

    @computed_once(ExactModel)
    def counting(*problem):
        asked.append(problem)
        return ExactModel([fmpq(10**5000, 3)], fmpq(1, 7), frozenset({0}))

    first = counting(X, Y, None, "hinge", 0.1, 0.0)
    assert counting(X, Y, None, "hinge", 0.1, 0.0) is first
    assert len(asked) == 1
    other = computed_once(ExactModel)(counting.__wrapped__)(X, Y, None, "hinge", 0.1, 0.0)
    assert other == replace(first)
    assert len(asked) == 1


def test_problems_that_differ_in_anything_have_different_names():
    changed = X.copy()
    changed[2, 1] = np.nextafter(changed[2, 1], 1.0)
    problems = [
        ("exact_model", X, Y, None, LOSSES["huber"], 0.1, 0.0),
        ("exact_intercept_model", X, Y, None, LOSSES["huber"], 0.1, 0.0),
        ("exact_model", changed, Y, None, LOSSES["huber"], 0.1, 0.0),
        ("exact_model", X.T, Y, None, LOSSES["huber"], 0.1, 0.0),
        ("exact_model", X, -Y, None, LOSSES["huber"], 0.1, 0.0),
        ("exact_model", X, Y, Y, LOSSES["huber"], 0.1, 0.0),
        ("exact_model", X, Y, np.ones(3), LOSSES["huber"], 0.1, 0.0),
        ("exact_model", X, Y, None, Huber(2.0), 0.1, 0.0),
        ("exact_model", X, Y, None, Huber(np.nextafter(2.0, 3.0)), 0.1, 0.0),
        ("exact_model", X, Y, None, SmoothedHinge(2.0), 0.1, 0.0),
        ("exact_model", X, Y, None, SmoothedHinge(3.0), 0.1, 0.0),
        ("exact_model", X, Y, None, LOSSES["huber"], 0.2, 0.0),
        ("exact_model", X, Y, None, LOSSES["huber"], 0.1, 0.1),
    ]
    assert len({problem_name(*problem) for problem in problems}) == len(problems)
    assert problem_name(*problems[0]) == problem_name("exact_model", rational_rows(X), Y, None, Huber(1.0), 0.1, 0.0)
