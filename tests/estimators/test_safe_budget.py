"""The largest budget that keeps most predictions: what is reported was proved with that very promise."""

import numpy as np
import pandas as pd
import pytest

from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.answers.certainty import is_certain
from ipub.estimators import safe_budget as module
from ipub.estimators.safe_budget import largest_safe_budget
from ipub.losses import LOSSES

N, HOLES = 80, 24


def table(seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    score = X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=N)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    rows = rng.choice(N, size=HOLES, replace=False)
    X[rows, rng.integers(0, 3, size=HOLES)] = np.nan
    return X, y


def classifier(**parameters):
    return BoundedClassifier(**{"alpha": 0.01, "scale": "standard", **parameters})


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", [name for name, each in LOSSES.items() if each.task == "classification"])
def test_a_fit_with_the_budget_that_is_named_has_the_same_bounds_and_share(loss, n_classes):
    X, y = table(n_classes=n_classes)
    found = largest_safe_budget(classifier(loss=loss, alpha=0.3), X, y, X)
    if loss == "hinge":
        assert found is None
        return
    again = classifier(loss=loss, alpha=0.3, uncertainty=Budget(cells=found.cells)).fit(X, y)
    bounds = again.decision_bounds(X)
    assert np.array_equal(found.model.decision_bounds(X), bounds)
    assert found.share == is_certain(bounds).mean()
    assert found.n_missing == HOLES
    assert 1 <= found.cells <= HOLES
    at_filled = classifier(loss=loss, alpha=0.3, uncertainty=Budget(cells=0)).fit(X, y)
    assert found.filled_in == is_certain(at_filled.decision_bounds(X)).mean()
    assert found.model.uncertainty.cells == found.cells


def test_no_filling_with_as_many_other_values_changes_a_class_that_is_certain():
    X, y = table(1)
    rows = np.random.default_rng(2).normal(size=(40, 3))
    found = largest_safe_budget(classifier(), X, y, rows)
    low, high = found.model.decision_bounds(rows).T
    certain = is_certain(np.column_stack([low, high]))
    assert certain.mean() == found.share
    ends, holes = found.model.hole_ranges_, np.argwhere(np.isnan(X))
    middle = np.where(np.isnan(X), ends.mean(axis=1), X)
    plain = classifier(certificate=None)
    rng = np.random.default_rng(3)
    for _ in range(60):
        filled = middle.copy()
        for i, j in rng.permutation(holes)[: found.cells]:
            filled[i, j] = rng.choice([*ends[j], rng.uniform(*ends[j])])
        # The scaler is learnt once, from the observed values.
        scaled, asked = (found.model.scaling_.rows(each) for each in (filled, rows))
        score = plain.set_params(scale=None).fit(scaled, y).decision_function(asked)
        assert ((low - 1e-6 <= score) & (score <= high + 1e-6)).all()


@pytest.mark.parametrize("seed", range(4))
def test_no_number_is_reported_that_was_not_proved_itself(monkeypatch, seed):
    """Where what is proved does not fall with the number, as it does: what is between proved numbers is not proved."""
    rng, proved, asked = np.random.default_rng(seed), set(), []
    attempt = module.attempt_budget

    def at_random(filled, budget):
        asked.append(budget.cells)
        found = attempt(filled, budget)
        if budget.cells and rng.random() < 0.5:
            return [each._replace(found=None) for each in found]
        proved.add(budget.cells)
        return found

    X, y = table()
    with monkeypatch.context() as patch:
        patch.setattr(module, "attempt_budget", at_random)
        found = largest_safe_budget(classifier(alpha=1.0), X, y, X)
    assert len(asked) == len(set(asked))
    assert found.cells in proved
    bounds = classifier(alpha=1.0, uncertainty=Budget(cells=found.cells)).fit(X, y).decision_bounds(X)
    assert found.share == is_certain(bounds).mean()


def test_fewer_predictions_to_keep_allow_a_larger_number():
    X, y = table()
    counts = [largest_safe_budget(classifier(), X, y, X, keep=keep).cells for keep in (1.0, 0.9, 0.5)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_regression_counts_bounds_that_are_narrow_beside_the_spread_of_the_targets():
    X, _ = table()
    y = np.nan_to_num(X) @ [3.0, 1.0, 0.0]
    estimator = BoundedRegressor(alpha=0.1, scale="standard")
    found = largest_safe_budget(estimator, X, y, X)
    again = BoundedRegressor(alpha=0.1, scale="standard", uncertainty=Budget(cells=found.cells)).fit(X, y)
    bounds = again.predict_bounds(X)
    assert np.array_equal(found.model.predict_bounds(X), bounds)
    assert found.share == (np.ptp(bounds, axis=1) <= 0.5 * np.std(y)).mean()


def test_the_filling_of_a_budget_is_kept_and_the_estimator_is_not_changed():
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(y, "u", "v"))
    frame.loc[3, "d"] = None
    estimator = classifier(alpha=1.0, uncertainty=Budget(cells=5, filling="mean"))
    found = largest_safe_budget(estimator, frame, y, frame)
    assert found.n_missing == HOLES + 1
    assert found.model.uncertainty.filling == "mean"
    assert estimator.uncertainty.cells == 5
    assert not hasattr(estimator, "coef_")


def test_where_nothing_is_proved_for_one_cell_none_may_differ():
    X, y = table()
    found = largest_safe_budget(classifier(alpha=1e-7), X, y, X)
    assert found.cells == 0
    assert found.share == found.filled_in
    assert found.model.uncertainty.cells == 0


def test_there_is_none_where_nothing_is_missing_or_budgets_are_not_proved():
    X, y = table()
    assert largest_safe_budget(classifier(), np.nan_to_num(X), y, X) is None
    long = np.tile(X, (70, 1))  # beyond the rows for which sums over all are made
    assert largest_safe_budget(classifier(), long, np.tile(y, 70), X) is None
