"""`score_range`: fillings stay within the certified range, and bad input gets one sentence."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IpubError, certify, load, save

OF_CLASSES = [
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "f1",
    "roc_auc",
    "neg_log_loss",
    "neg_brier_score",
]
OF_TARGETS = ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"]


def table(seed, n=60, d=3, holes=6, m=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, d))
    y = X[:, 0] + X[:, 1] > 0.8 * rng.normal(size=n + m)
    X[rng.choice(n, holes, replace=False), rng.integers(0, d, holes)] = np.nan
    return X[:n], y[:n], X[n:], y[n:]


def fillings(X, ranges, rng, count):
    """Yield the table with its holes at the ends of their intervals, and inside."""
    rows, columns = np.nonzero(np.isnan(X))
    for k in range(count):
        filled = X.copy()
        at = rng.integers(0, 2, len(rows)) if k % 3 else rng.random(len(rows))
        low, high = ranges[columns].T
        filled[rows, columns] = low + at * (high - low)
        yield filled


@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_retrained_classifiers_are_within_their_ranges(seed):
    X, y, X_test, y_test = table(seed)
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    groups = np.where(X_test[:, 2] > 0.0, "a", "b")
    frame = clf.score_range(X_test, y_test, OF_CLASSES, groups=groups).set_index(["metric", "group"])
    rng = np.random.default_rng(seed)
    for filled in fillings(X, clf.hole_ranges_, rng, 60):
        other = LogisticRegression(C=1.0 / (0.05 * len(X)), tol=1e-10, max_iter=1000).fit(filled, y)
        for name in OF_CLASSES:
            scorer = get_scorer(name)
            of_groups = [scorer(other, X_test[groups == g], y_test[groups == g]) for g in ("a", "b")]
            values = {"(all rows)": scorer(other, X_test, y_test), **dict(zip("ab", of_groups, strict=True))}
            values["(largest difference)"] = abs(of_groups[0] - of_groups[1])
            if not name.startswith("neg"):
                values["(least ratio)"] = min(of_groups) / max(of_groups)
            for group, value in values.items():
                found = frame.loc[(name, group)]
                assert found["lower"] - 1e-7 <= value <= found["upper"] + 1e-7, (name, group)


@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_retrained_regressors_are_within_their_ranges(seed):
    X, _, X_test, _ = table(seed)
    y, y_test = np.nan_to_num(X).sum(axis=1), X_test.sum(axis=1)
    reg = BoundedRegressor(alpha=0.1).fit(X, y)
    frame = reg.score_range(X_test, y_test, OF_TARGETS).set_index("metric")
    for filled in fillings(X, reg.hole_ranges_, np.random.default_rng(seed), 60):
        other = Ridge(alpha=0.05 * len(X)).fit(filled, y)
        for name in OF_TARGETS:
            value = get_scorer(name)(other, X_test, y_test)
            assert frame.loc[name, "lower"] - 1e-9 <= value <= frame.loc[name, "upper"] + 1e-9, name


def test_a_value_is_that_of_the_model_that_predicts():
    X, y, X_test, y_test = table(0)
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    assert clf.score_range(X_test, y_test).value == pytest.approx(clf.score(X_test, y_test))
    assert "whatever the missing values are (proved)" in repr(clf.score_range(X_test, y_test))
    assert "accuracy" in clf.score_range(X_test, y_test)._repr_html_()


def test_holes_of_test_rows_and_missing_labels_only_widen_a_range():
    X, y, X_test, y_test = table(1)
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    labels, holed = y_test.astype(object), X_test.copy()
    labels[:3] = None
    holed[:5, 1] = np.nan
    names = ["accuracy", "f1", "neg_log_loss"]
    plain = clf.score_range(X_test, y_test, names)
    inside = holed.copy()
    inside[:5, 1] = clf.hole_ranges_[1].mean()
    for rows, given in ((holed, y_test), (X_test, labels)):
        wider = clf.score_range(rows, given, names)
        some = clf.score_range(inside if rows is holed else X_test, y_test, names)
        assert (wider["lower"] <= some["lower"]).all()
        assert (some["upper"] <= wider["upper"]).all()
        assert (wider["lower"] < plain["lower"]).any()


def test_promises_are_those_of_the_model():
    X, y, X_test, y_test = table(2)
    budget = BoundedClassifier(alpha=0.05, uncertainty=Budget(cells=1)).fit(X, y).score_range(X_test, y_test)
    assert "at most 1 of the 6 missing values" in budget.promise
    draws = BoundedClassifier(alpha=0.05, uncertainty=Draws(n_draws=19), random_state=0).fit(X, y)
    found = draws.score_range(X_test, y_test)
    assert found.promise.startswith("With probability 90 %, for each metric of given rows by itself")
    assert "1 - k 2/20 for k metrics together" in found.promise
    assert repr(found).count("90 %") == 1
    worst = BoundedClassifier(alpha=0.05).fit(X, y).score_range(X_test, y_test)
    assert worst.lower <= found.lower <= found.value <= found.upper <= worst.upper


def test_no_table_of_a_budget_of_rows_and_cells_leaves_a_range():
    X, y, X_test, y_test = table(6, holes=3)
    names = ["accuracy", "f1", "roc_auc", "neg_log_loss"]
    budget = Budget(cells=1, rows=1, labels=1)
    clf = BoundedClassifier(alpha=0.5, uncertainty=budget, intervals="observed").fit(X, y)
    frame = clf.score_range(X_test, y_test, names).set_index("metric")
    assert "at most 1 of the rows are absent" in clf.score_range(X_test, y_test).promise
    assert (frame["upper"] - frame["lower"] < 0.9).all()
    middle = np.where(np.isnan(X), clf.hole_ranges_.mean(axis=1), X)
    rng = np.random.default_rng(0)
    for dropped in range(len(X)):
        filled, labels = middle.copy(), y.copy()
        (row, column), flipped = rng.choice(np.argwhere(np.isnan(X))), rng.integers(len(y))
        filled[row, column] = rng.choice(clf.hole_ranges_[column])
        labels[flipped] = not labels[flipped]
        kept = np.arange(len(X)) != dropped
        other = LogisticRegression(C=1.0 / (0.5 * (len(X) - 1)), tol=1e-10, max_iter=1000).fit(
            filled[kept], labels[kept]
        )
        for name in names:
            value = get_scorer(name)(other, X_test, y_test)
            assert frame.loc[name, "lower"] - 1e-7 <= value <= frame.loc[name, "upper"] + 1e-7, name


def test_the_range_over_draws_contains_the_metric_of_each_draw():
    X, y, X_test, y_test = table(3, holes=20)
    clf = BoundedClassifier(alpha=0.02, uncertainty=Draws(n_draws=19, radius=0.05), random_state=1).fit(X, y)
    (certificate,) = clf.training_.certificates
    weights = certificate.parts[0].weights
    for name in ("accuracy", "roc_auc", "neg_log_loss"):
        found = clf.score_range(X_test, y_test, name)
        for w in weights:
            other = LogisticRegression().fit(X_test, y_test)
            other.coef_, other.intercept_ = w[None, :-1], w[-1:]
            assert found.lower - 1e-9 <= get_scorer(name)(other, X_test, y_test) <= found.upper + 1e-9


def test_without_holes_a_range_is_a_number():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = X[:, 0] > 0
    found = BoundedClassifier().fit(X, y).score_range(X, y, "neg_log_loss")
    assert found.upper - found.lower < 1e-6


def test_a_model_of_a_file_has_certified_ranges(tmp_path):
    X, y, X_test, y_test = table(4)
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    save(clf, tmp_path / "model.ipub", rows=False)
    found = load(tmp_path / "model.ipub").score_range(X_test, y_test)
    assert found.lower <= clf.score_range(X_test, y_test).value <= found.upper
    assert np.isnan(found.attained_lower)


def test_certified_models_of_scikit_learn_have_ranges():
    X, y, X_test, y_test = table(5)
    model = LogisticRegression().fit(np.nan_to_num(X), y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = certify(model, X, y).score_range(X_test, y_test)
    assert found.lower <= model.score(X_test, y_test) <= found.upper


def test_a_pipeline_has_ranges_in_its_own_units():
    X, y, X_test, y_test = table(6)
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.5)).fit(X, y)
    certified = certify(pipeline, X, y)
    found = certified.score_range(X_test, y_test, ["accuracy", "neg_log_loss"]).set_index("metric")
    for filled in fillings(X, certified.hole_ranges_, np.random.default_rng(0), 20):
        # As the certificate has it, the scaler stays what it has learnt.
        scaled = pipeline[1].transform(filled)
        other = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(scaled, y)
        for name in found.index:
            value = get_scorer(name)(other, pipeline[1].transform(X_test), y_test)
            assert found.loc[name, "lower"] - 1e-6 <= value <= found.loc[name, "upper"] + 1e-6


def test_frames_are_of_the_library_of_the_rows():
    X, y, X_test, y_test = table(0)
    names = ["a", "b", "c"]
    clf = BoundedClassifier(alpha=0.05).fit(pd.DataFrame(X, columns=names), y)
    rows = pd.DataFrame(X_test, columns=names)
    assert isinstance(clf.score_range(rows, y_test, ["accuracy"]), pd.DataFrame)
    found = clf.score_range(pl.from_pandas(rows), y_test, groups=pl.Series(["x", "y"] * 20))
    assert found["group"].to_list() == ["(all rows)", "x", "y", "(largest difference)", "(least ratio)"]


def test_a_group_of_one_class_has_no_recall_and_says_so():
    X, y, X_test, y_test = table(0)
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    groups = np.where(y_test, "yes", "no")
    with pytest.warns(UserWarning, match="recall of the group 'no' is not defined, since no row is known to be of the"):
        frame = clf.score_range(X_test, y_test, "recall", groups=groups)
    assert frame["group"].tolist() == ["(all rows)", "no", "yes"]
    assert np.isnan(frame["lower"][1])
    with pytest.warns(UserWarning, match="roc_auc of these rows is not defined, since all rows are of one class"):
        found = clf.score_range(X_test[y_test], y_test[y_test], "roc_auc")
    assert repr(found) == "roc_auc is not defined: all rows are of one class."


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"scoring": "accurcy"},
            "scoring='accurcy' is not known of this model. Did you mean 'accuracy'",
        ),
        ({"scoring": "r2"}, "scoring='r2' is not known of this model. Use 'accuracy', 'balanced_accuracy'"),
        ({"scoring": ["f1", "auc"]}, "Did you mean 'roc_auc'"),
        ({"scoring": []}, "scoring is empty"),
        ({"y": [True] * 39}, "X has 40 rows, and y has 39"),
        ({"y": [*[True] * 39, "maybe"]}, "y mixes text|y is 'maybe' in row 39, which is no class of the model"),
        ({"y": [2] * 40}, "y is 2 in row 0, which is no class of the model: these are False, True"),
        ({"y": None}, "y is None"),
        ({"groups": ["a"] * 10}, "X has 40 rows, and groups has 10"),
        (
            {"scoring": "roc_auc", "y": [None] * 40},
            "needs all labels",
        ),
    ],
)
def test_bad_input_gets_one_sentence(change, sentence):
    X, y, X_test, y_test = table(0)
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    with pytest.raises(IpubError, match=sentence):
        clf.score_range(**{"X": X_test, "y": y_test, **change})


def test_losses_without_probabilities_have_no_log_loss():
    X, y, X_test, y_test = table(0)
    clf = BoundedClassifier("squared_hinge", alpha=0.05).fit(X, y)
    with pytest.raises(IpubError, match="scoring='neg_log_loss' is not known of this model"):
        clf.score_range(X_test, y_test, "neg_log_loss")


def test_targets_whose_variance_underflows_have_no_r2():
    """The bounds were those over a variance below 0: from 1e163 up, where the model's is -1."""
    X = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0], [1.0, 1.0]])
    reg, rows = BoundedRegressor(alpha=1.0).fit(X, np.zeros(4)), np.eye(2)
    with pytest.warns(UserWarning, match="the targets of the rows are all the same, or no farther apart than 1e-140"):
        found = reg.score_range(rows, [0.0, 1e-170], "r2")
    assert np.isnan(found.lower)
    assert reg.score_range(rows, [0.0, 1e-139], "r2").lower <= -1.0


def test_a_missing_target_is_named():
    X, _, X_test, _ = table(0)
    reg = BoundedRegressor().fit(X, np.nan_to_num(X).sum(axis=1))
    with pytest.raises(IpubError, match="y has no target in row 1, so r2 is not known: drop these rows"):
        reg.score_range(X_test, [0.0, np.nan, *[1.0] * 38], "r2")
    assert reg.score_range(X_test, np.arange(40.0)).metric == "r2"
