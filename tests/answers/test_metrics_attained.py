"""What metrics attain: the metrics of models trained on fillings, that a search pushes far."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import get_scorer

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, load, save

LOW, HIGH = "attained_lower", "attained_upper"


def table(seed, n=40, d=3, holes=3, m=30, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, d))
    score = X[:, 0] + X[:, 1] + 0.8 * rng.normal(size=n + m)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    X[rng.choice(n, holes, replace=False), rng.integers(0, d, holes)] = np.nan
    return X[:n], y[:n], X[n:], y[n:]


def at_corners(X, ranges):
    rows, columns = np.nonzero(np.isnan(X))
    for ends in itertools.product((0, 1), repeat=len(rows)):
        filled = X.copy()
        filled[rows, columns] = ranges[columns, ends]
        yield filled


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_search_finds_what_the_corners_of_all_holes_give_and_stays_within_the_certified_range(n_classes):
    shares = []
    for seed in range(3):
        X, y, X_test, y_test = table(seed, n_classes=n_classes)
        names = ["accuracy", "balanced_accuracy", "neg_log_loss", *(["roc_auc", "f1"] if n_classes == 2 else [])]
        clf = BoundedClassifier(alpha=0.05).fit(X, y)
        frame = clf.score_range(X_test, y_test, names).set_index("metric")
        others = [
            BoundedClassifier(alpha=0.05, certificate=None, tol=1e-10).fit(filled, y)
            for filled in at_corners(X, clf.hole_ranges_)
        ]
        for name in names:
            found = frame.loc[name]
            assert found["lower"] <= found[LOW] <= found[HIGH] <= found["upper"], name
            values = [get_scorer(name)(other, X_test, y_test) for other in others]
            assert found["lower"] - 1e-7 <= min(values), name
            assert max(values) <= found["upper"] + 1e-7, name
            shares.append((found[HIGH] - found[LOW] + 1e-9) / (max(values) - min(values) + 1e-9))
    assert min(shares) > 0.6
    assert np.mean(np.minimum(shares, 1.0)) > 0.97


def values_on_a_grid(X, y, ranges, X_test, target):
    """Yield the least and the greatest mean squared error of rows, with holes too, for fillings of a single hole."""
    (row,), (column,) = np.nonzero(np.isnan(X))
    places = [[np.linspace(*ranges[j], 401) if np.isnan(v) else [v] for j, v in enumerate(x)] for x in X_test]
    rows = [np.array(list(itertools.product(*each))) for each in places]
    for place in np.linspace(*ranges[column], 41):
        filled = X.copy()
        filled[row, column] = place
        reg = BoundedRegressor(alpha=0.1, certificate=None, tol=1e-12).fit(filled, y)
        errors = [(reg.predict(each) - t) ** 2 for each, t in zip(rows, target, strict=True)]
        yield np.mean([each.min() for each in errors]), np.mean([each.max() for each in errors])


@pytest.mark.parametrize("holes_of_test_rows", [0, 5])
def test_no_filling_of_a_single_hole_is_missed_and_none_is_invented(holes_of_test_rows):
    rng = np.random.default_rng(3)
    X, _, X_test, _ = table(3, holes=1)
    X_test[rng.choice(len(X_test), holes_of_test_rows, replace=False), 2] = np.nan
    y, target = 2.0 * X[:, 0] + np.nan_to_num(X[:, 1]), X_test[:, 0]
    reg = BoundedRegressor(alpha=0.1).fit(X, y)
    found = reg.score_range(X_test, target, "mean_squared_error")
    lower, upper = zip(*values_on_a_grid(X, y, reg.hole_ranges_, X_test, target), strict=True)
    assert min(lower) - 1e-4 <= found.attained_lower <= min(lower) + 1e-3
    assert max(upper) - 1e-3 <= found.attained_upper <= max(upper) + 1e-4


def test_what_budgets_and_draws_attain_is_within_what_any_filling_does():
    X, y, X_test, y_test = table(0, n=60, holes=8)
    names = ["accuracy", "roc_auc", "neg_log_loss"]
    widths = {}
    for kind, uncertainty in {
        "one": Budget(cells=1),
        "three": Budget(cells=3),
        "any": "worst",
        "draws": Draws(n_draws=9),
    }.items():
        clf = BoundedClassifier(alpha=0.05, uncertainty=uncertainty, random_state=0).fit(X, y)
        frame = clf.score_range(X_test, y_test, names)
        assert (frame["lower"] <= frame[LOW]).all()
        assert (frame[HIGH] <= frame["upper"]).all()
        widths[kind] = (frame[HIGH] - frame[LOW])[2]
    assert 0.0 < widths["one"] < widths["three"] < widths["any"]
    assert widths["draws"] > 0.0


def test_categories_and_groups_and_unknown_labels_are_pushed_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y", "z"], 90)})
    y = frame["a"] + (frame["b"] == "x") > rng.normal(size=90)
    frame.loc[:8, "b"] = None
    clf = BoundedClassifier(alpha=0.02).fit(frame[:60], y[:60])
    groups = np.where(frame["a"][60:] > 0.0, "more", "less")
    found = clf.score_range(frame[60:], y[60:], ["neg_log_loss", "selection_rate"], groups=groups)
    assert (found[LOW] < found[HIGH]).all()
    assert (found["lower"] <= found[LOW]).all()
    assert (found[HIGH] <= found["upper"]).all()
    without = clf.score_range(frame[60:], y[60:], "neg_log_loss", search=False)
    assert np.isnan(without.attained_lower)
    errors = BoundedClassifier(alpha=0.02, uncertainty=Budget(cells=2, labels=1)).fit(frame[:60], y[:60])
    wider = errors.score_range(frame[60:], y[60:], "neg_log_loss")
    assert wider.lower <= wider.attained_lower < wider.attained_upper <= wider.upper


def test_a_model_without_its_rows_says_why_nothing_was_searched_for(tmp_path):
    X, y, X_test, y_test = table(1)
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    save(clf, tmp_path / "model.ipub")
    found = load(tmp_path / "model.ipub").score_range(X_test, y_test)
    assert np.isnan(found.attained_lower)
    assert found.notes == (
        "No fillings were searched for, since the training table is not at hand: the model was loaded, unpickled or "
        "copied.",
    )
