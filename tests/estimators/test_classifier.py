"""What a user of the classifier meets."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from ipub import BoundedClassifier, IntervalMatrix, Intervals
from ipub.losses import Logistic, loss_names

MODELS = [
    BoundedClassifier(),
    BoundedClassifier("hinge"),
    BoundedClassifier(l1_ratio=0.5, certificate="sphere"),
    BoundedClassifier("hinge", l1_ratio=0.5, certificate="ball"),
    BoundedClassifier("squared_hinge"),
    BoundedClassifier("smoothed_hinge", l1_ratio=0.5),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.loss}-{m.l1_ratio}-{m.certificate}")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.where(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=150) > 0.0, "yes", "no")
    X[rng.random((150, 4)) < 0.03] = np.nan
    return X, y


@pytest.fixture
def X_test():
    return np.random.default_rng(1).normal(size=(60, 4))


@each_model
def test_attributes_have_the_promised_shapes(model, data):
    clf = clone(model).fit(*data)
    assert clf.coef_.shape == (1, 4)
    assert clf.coef_bounds_.shape == (4, 2)
    assert (clf.coef_bounds_[:, 0] <= clf.coef_[0]).all()
    assert (clf.coef_[0] <= clf.coef_bounds_[:, 1]).all()
    assert clf.intercept_.shape == (1,)
    assert clf.intercept_bounds_[0] < clf.intercept_[0] < clf.intercept_bounds_[1]
    np.testing.assert_array_equal(clf.classes_, ["no", "yes"])
    assert clf.n_features_in_ == 4
    assert clf.n_iter_ >= 1
    assert 0.0 <= clf.dual_gap_ <= 1e-8
    assert clf.certificate_.name == model.certificate
    assert clf.certificate_.gap == clf.dual_gap_
    assert clf.fill_values_.shape == (4,)


@each_model
def test_bounds_hold_the_score_and_are_finite(model, data, X_test):
    clf = clone(model).fit(*data)
    bounds, scores = clf.decision_bounds(X_test), clf.decision_function(X_test)
    assert bounds.shape == (60, 2)
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] <= scores).all()
    assert (scores <= bounds[:, 1]).all()
    np.testing.assert_array_equal(clf.predict(X_test), np.where(scores > 0.0, "yes", "no"))


@each_model
def test_the_prediction_set_holds_every_label_that_some_completion_may_give(model, data):
    X, y = data
    X[5:] = np.nan_to_num(X[5:])
    clf = clone(model).fit(X, y)
    X_test = np.random.default_rng(2).normal(size=(500, 4))
    bounds, labels = clf.decision_bounds(X_test), clf.predict_set(X_test)
    assert labels.shape == (500, 2)
    assert labels.dtype == bool
    np.testing.assert_array_equal(labels[:, 0], bounds[:, 0] <= 0.0)
    np.testing.assert_array_equal(labels[:, 1], bounds[:, 1] >= 0.0)
    assert labels.any(axis=1).all()
    certain = labels.sum(axis=1) == 1
    assert certain.any()
    assert not certain.all()
    np.testing.assert_array_equal(clf.predict(X_test)[certain], clf.classes_[labels[certain].argmax(axis=1)])


@pytest.mark.parametrize(
    ("bounds", "labels"),
    [
        ((0.5, 1.0), [False, True]),
        ((-1.0, -0.5), [True, False]),
        ((-1.0, 1.0), [True, True]),
        ((0.0, 1.0), [True, True]),
        ((-1.0, 0.0), [True, True]),
        ((0.0, 0.0), [True, True]),
        ((-np.inf, np.inf), [True, True]),
    ],
)
def test_a_score_that_may_be_zero_makes_both_labels_possible(bounds, labels, data, X_test, monkeypatch):
    clf = BoundedClassifier().fit(*data)
    monkeypatch.setattr(clf, "_score_bounds", lambda *_: np.array([bounds]))
    assert clf.predict_set(X_test[:1]).tolist() == [labels]


def test_without_an_intercept_a_row_of_zeros_is_never_certain(data):
    assert BoundedClassifier(fit_intercept=False).fit(*data).predict_set(np.zeros((1, 4))).tolist() == [[True, True]]


def test_probabilities_are_the_sigmoid_of_the_score(data, X_test):
    clf = BoundedClassifier().fit(*data)
    probabilities = clf.predict_proba(X_test)
    np.testing.assert_allclose(probabilities[:, 1], expit(clf.decision_function(X_test)), rtol=1e-15)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-15)


def test_bounds_of_probabilities_are_the_outward_sigmoid_of_the_bounds_of_scores(data, X_test):
    clf = BoundedClassifier().fit(*data)
    bounds, scores = clf.predict_proba_bounds(X_test), clf.decision_bounds(X_test)
    assert bounds.shape == (60, 2)
    np.testing.assert_array_equal(bounds, np.column_stack(Logistic().link_range(scores[:, 0], scores[:, 1])))
    assert (bounds[:, 0] <= expit(scores[:, 0])).all()
    assert (expit(scores[:, 1]) <= bounds[:, 1]).all()
    np.testing.assert_allclose(bounds, expit(scores), rtol=1e-13)
    probabilities = clf.predict_proba(X_test)[:, 1]
    assert (bounds[:, 0] <= probabilities).all()
    assert (probabilities <= bounds[:, 1]).all()


@pytest.mark.parametrize("method", ["predict_proba", "predict_proba_bounds"])
def test_only_the_logistic_loss_has_probabilities(method, data):
    assert hasattr(BoundedClassifier(), method)
    clf = BoundedClassifier("hinge")
    assert not hasattr(clf, method)
    assert not hasattr(clf.fit(*data), method)
    with pytest.raises(AttributeError):
        getattr(clf, method)(data[0])


@each_model
def test_holes_of_a_test_row_take_the_middle_of_the_columns_interval(model, data, X_test):
    ranges = {0: (-1.0, 3.0), 1: (0.0, 1.0), 2: (-2.0, -1.0), 3: (5.0, 7.0)}
    clf = clone(model).set_params(intervals=ranges).fit(*data)
    middle = np.array([1.0, 0.5, -1.5, 6.0])
    np.testing.assert_array_equal(clf.fill_values_, middle)
    holes = np.random.default_rng(3).random(X_test.shape) < 0.3
    holed, filled = np.where(holes, np.nan, X_test), np.where(holes, middle, X_test)
    methods = ["predict", "decision_function"] + ["predict_proba"] * (model.loss == "log_loss")
    for method in methods:
        np.testing.assert_array_equal(getattr(clf, method)(holed), getattr(clf, method)(filled))


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("certificate", "named"), [("tight", False), ("tight", True), ("ball", False), ("pointwise", True)]
)
def test_bounds_of_a_row_with_holes_hold_for_every_filling_of_it(certificate, named, data, X_test):
    X, y = data
    X_test = X_test[:3]
    X_test[1, 2] = X_test[2, 0] = X_test[2, 1] = np.nan
    as_given = (lambda part: pd.DataFrame(part, columns=list("abcd"))) if named else (lambda part: part)
    clf = BoundedClassifier(certificate=certificate, alpha=0.3).fit(as_given(X), y)
    bounds, labels = clf.decision_bounds(as_given(X_test)), clf.predict_set(as_given(X_test))
    probabilities = clf.predict_proba_bounds(as_given(X_test))
    scores = clf.decision_function(as_given(X_test))
    assert ((bounds[:, 0] < scores) & (scores < bounds[:, 1])).all()
    holes = np.isnan(X_test)
    shares = ([0.0, 1.0, 0.0, 1.0], [1.0] * 4, [0.0] * 4, [0.3, 0.6, 0.9, 0.2])
    for share in shares[:: 3 if certificate == "pointwise" else 1]:  # which takes seconds
        low, high = clf.hole_ranges_.T
        filled = as_given(np.where(holes, low + np.array(share) * (high - low), X_test))
        inside, rounding = clf.decision_bounds(filled), 1e-9
        assert (bounds[:, 0] <= inside[:, 0] + rounding).all()
        assert (inside[:, 1] <= bounds[:, 1] + rounding).all()
        assert (labels | ~clf.predict_set(filled)).all()
        assert (probabilities[:, 0] <= clf.predict_proba_bounds(filled)[:, 0] + rounding).all()
    complete = ~holes.any(axis=1)
    np.testing.assert_allclose(bounds[complete], clf.decision_bounds(as_given(np.nan_to_num(X_test)))[complete])


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "labels", [(0, 1), (-1, 1), (True, False), ("a", "b"), (3.0, 7.0)], ids=lambda pair: str(pair[0])
)
def test_any_two_labels_give_the_same_model_up_to_its_sign(labels, data, X_test):
    X, y = data
    expected = BoundedClassifier().fit(X, y)
    first, second = sorted(labels)
    clf = BoundedClassifier().fit(X, np.where(y == "yes", second, first))
    assert np.array_equal(clf.coef_, expected.coef_)
    assert np.array_equal(clf.decision_bounds(X_test), expected.decision_bounds(X_test))
    np.testing.assert_array_equal(clf.predict(X_test) == second, expected.predict(X_test) == "yes")


def test_labels_may_come_in_any_container(data):
    X, y = data
    expected = BoundedClassifier().fit(X, y).coef_
    for container in (list, pd.Series, pl.Series, lambda v: pd.Series(v, dtype="string"), pd.Categorical):
        assert np.array_equal(BoundedClassifier().fit(X, container(y)).coef_, expected)


@pytest.mark.no_cover
@each_model
def test_every_container_of_the_table_gives_the_same_model_and_bounds(model, data, X_test):
    X, y = data
    expected = clone(model).fit(X, y)
    names = list("abcd")
    containers = {
        "list": lambda v: v.tolist(),
        "fortran": np.asfortranarray,
        "pandas": lambda v: pd.DataFrame(v, columns=names),
        "pandas nullable": lambda v: pd.DataFrame(v, columns=names).convert_dtypes(),
        "polars": lambda v: pl.DataFrame(v, schema=names).fill_nan(None),
        "pyarrow": lambda v: pl.DataFrame(v, schema=names).fill_nan(None).to_arrow(),
    }
    for container in containers.values():
        clf = clone(model).fit(container(X), y)
        assert np.array_equal(clf.coef_, expected.coef_)
        # Columns side by side in memory are multiplied in another order.
        bounds = clf.decision_bounds(container(X_test))
        np.testing.assert_allclose(bounds, expected.decision_bounds(X_test), rtol=1e-13, atol=1e-14)
        assert np.array_equal(clf.predict(container(X)), expected.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, bool])
def test_other_numeric_types_are_taken_at_their_value(dtype):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, size=(60, 3)).astype(dtype)
    y = rng.integers(0, 2, 60)
    clf, expected = BoundedClassifier().fit(X, y), BoundedClassifier().fit(X.astype(float), y)
    assert np.array_equal(clf.coef_, expected.coef_)
    assert np.array_equal(clf.decision_bounds(X), expected.decision_bounds(X.astype(float)))
    assert clf.decision_bounds(X).dtype == np.float64


def test_float32_with_holes_is_taken_at_its_value(data):
    X, y = data
    X = X.astype(np.float32)
    assert np.array_equal(BoundedClassifier().fit(X, y).coef_, BoundedClassifier().fit(X.astype(float), y).coef_)


@pytest.mark.parametrize("way", ["table", "bounds", "matrix", "frame"])
def test_what_the_user_gave_is_never_written(way, data, X_test):
    X, y = data
    lower, upper = np.where(np.isnan(X), -1.0, X), np.where(np.isnan(X), 1.0, X)
    weight = np.ones(150)
    given = (X, lower, upper, weight, X_test)
    for part in given:
        part.flags.writeable = False
    before = [part.tobytes() for part in given]
    extra = {"X_lower": lower, "X_upper": upper} if way == "bounds" else {}
    table = {"matrix": lambda: IntervalMatrix.from_bounds(lower, upper), "frame": lambda: pd.DataFrame(X, copy=False)}
    source = table.get(way, lambda: X)()
    clf = BoundedClassifier().fit(source, y, sample_weight=weight, **extra)
    clf.predict(X_test)
    clf.decision_bounds(X_test)
    clf.predict_set(X_test)
    assert [part.tobytes() for part in given] == before


@pytest.mark.no_cover
@each_model
def test_explicit_bounds_ranges_and_a_matrix_say_the_same(model, data, X_test):
    X, y = data
    ranges = np.array([[-1.0, 1.0], [0.0, 2.0], [-3.0, 0.5], [0.1, 0.3]])
    lower, upper = np.where(np.isnan(X), ranges[:, 0], X), np.where(np.isnan(X), ranges[:, 1], X)
    fits = [
        clone(model).set_params(intervals=ranges).fit(X, y),
        clone(model).set_params(intervals=dict(enumerate(ranges.tolist()))).fit(X, y),
        clone(model).fit(X, y, X_lower=lower, X_upper=upper),
        clone(model).fit(X, y, X_lower=pd.DataFrame(lower), X_upper=pl.DataFrame(upper)),
        clone(model).fit(IntervalMatrix.from_bounds(lower, upper), y),
    ]
    for other in fits[1:]:
        assert np.array_equal(other.coef_, fits[0].coef_)
        assert np.array_equal(other.decision_bounds(X_test), fits[0].decision_bounds(X_test))


def test_a_hole_whose_two_bounds_are_equal_is_a_known_cell(data, X_test):
    X, y = data
    i, j = np.argwhere(np.isnan(X))[0]
    lower, upper = np.where(np.isnan(X), -1.0, X), np.where(np.isnan(X), 1.0, X)
    lower[i, j] = upper[i, j] = 0.25
    known = X.copy()
    known[i, j] = 0.25
    clf = BoundedClassifier().fit(X, y, X_lower=lower, X_upper=upper)
    expected = BoundedClassifier().fit(known, y, X_lower=lower, X_upper=upper)
    np.testing.assert_allclose(clf.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(clf.decision_bounds(X_test), expected.decision_bounds(X_test), rtol=1e-7)


def test_any_cell_of_a_matrix_may_be_an_interval_and_costs_width(data, X_test):
    X, y = data
    center = np.nan_to_num(X)
    exact = BoundedClassifier().fit(IntervalMatrix.from_bounds(center, center), y)
    noisy = BoundedClassifier().fit(IntervalMatrix.from_bounds(center - 1e-3, center + 1e-3), y)
    widths = [np.diff(clf.decision_bounds(X_test), axis=1) for clf in (exact, noisy)]
    assert (widths[0] < 1e-6).all()
    assert (widths[1] > widths[0]).all()


@each_model
def test_a_table_without_holes_has_bounds_that_are_points_but_for_rounding(model, data, X_test):
    X, y = data
    clf = clone(model).set_params(certificate="tight", tol=1e-11).fit(np.nan_to_num(X), y)
    lam = model.alpha * (1.0 - model.l1_ratio)
    # A duality gap of G leaves the model within sqrt(2 G / lam); 1e-13 more covers the rounding of the sums.
    radius = np.sqrt(2.0 * (clf.dual_gap_ + 1e-13) / lam)
    # The intercept moves no more than the scores of the training rows, and its bracket is good to some percent.
    largest_norm = 1.1 * np.linalg.norm(np.nan_to_num(X), axis=1).max()
    widths = np.diff(clf.decision_bounds(X_test), axis=1)[:, 0]
    assert (widths <= 2.0 * radius * (np.linalg.norm(X_test, axis=1) + largest_norm)).all()


# Row sums, which a weak penalty needs, choose multipliers in steps: rounding sways their bounds a little.
@pytest.mark.parametrize(("alpha", "rtol", "atol"), [(1.0, 1e-6, 1e-9), (0.1, 1e-5, 1e-6)], ids=["slopes", "row sums"])
def test_a_weight_of_k_equals_k_copies_with_given_intervals(alpha, rtol, atol, data, X_test):
    X, y = data
    copies = np.random.default_rng(5).integers(0, 3, 150)
    clf = BoundedClassifier(alpha=alpha, intervals=np.tile([-2.0, 2.0], (4, 1)), tol=1e-12)
    weighted = clone(clf).fit(X, y, sample_weight=copies)
    copied = clone(clf).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-7)
    np.testing.assert_allclose(weighted.decision_bounds(X_test), copied.decision_bounds(X_test), rtol=rtol, atol=atol)


@pytest.mark.parametrize("intervals", ["observed", "quantile"])
def test_rows_of_weight_zero_count_nowhere_not_even_in_the_intervals(intervals, data, X_test):
    X, y = data
    weight = np.ones(150)
    weight[:20] = 0.0
    wild = X.copy()
    wild[:20] = 1e6
    kept = BoundedClassifier(intervals=intervals).fit(X[20:], y[20:])
    clf = BoundedClassifier(intervals=intervals).fit(wild, y, sample_weight=weight)
    np.testing.assert_array_equal(clf.fill_values_, kept.fill_values_)
    np.testing.assert_allclose(clf.coef_, kept.coef_, rtol=1e-7)
    np.testing.assert_allclose(clf.decision_bounds(X_test), kept.decision_bounds(X_test), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("factor", [5e-324, 1e-300, 0.5, 1e100])
def test_only_the_ratios_of_weights_matter(factor, data):
    X, y = data
    expected = BoundedClassifier().fit(X, y)
    clf = BoundedClassifier().fit(X, y, sample_weight=np.full(150, factor))
    np.testing.assert_allclose(clf.coef_bounds_, expected.coef_bounds_, rtol=1e-12)


@pytest.mark.no_cover
@each_model
def test_the_same_input_gives_the_same_bits(model, data, X_test):
    first, second = (clone(model).fit(*data) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert np.array_equal(first.decision_bounds(X_test), second.decision_bounds(X_test))


def test_bounds_of_one_row_do_not_depend_on_the_others_but_for_rounding(data, X_test):
    clf = BoundedClassifier().fit(*data)
    one_by_one = np.vstack([clf.decision_bounds(row[None, :]) for row in X_test])
    np.testing.assert_allclose(one_by_one, clf.decision_bounds(X_test), rtol=1e-13, atol=1e-14)


def test_tight_is_the_default_and_no_wider_than_the_others(data, X_test):
    bounds = {
        name: BoundedClassifier(certificate=name).fit(*data).decision_bounds(X_test)
        for name in ("tight", "sphere", "ball")
    }
    np.testing.assert_array_equal(BoundedClassifier().fit(*data).decision_bounds(X_test), bounds["tight"])
    for name in ("sphere", "ball"):
        assert (bounds["tight"][:, 0] >= bounds[name][:, 0] - 1e-14).all()
        assert (bounds["tight"][:, 1] <= bounds[name][:, 1] + 1e-14).all()


def test_a_larger_level_gives_wider_bounds(data, X_test):
    widths = [
        np.diff(BoundedClassifier(intervals=Intervals(level=level)).fit(*data).decision_bounds(X_test), axis=1).mean()
        for level in (0.1, 0.5, 0.9, 1.0)
    ]
    assert (np.diff(widths) > 0.0).all()


def test_progress_is_printed_only_when_asked_for(data, capsys):
    BoundedClassifier().fit(*data)
    assert capsys.readouterr().out == ""
    BoundedClassifier(verbose=1).fit(*data)
    assert "relative gap" in capsys.readouterr().out


def test_the_width_counts_for_the_smoothed_hinge_only(data, X_test):
    for loss in loss_names("classification"):
        one, other = (BoundedClassifier(loss, hinge_width=h).fit(*data).decision_bounds(X_test) for h in (0.5, 0.05))
        assert np.array_equal(one, other) == (loss != "smoothed_hinge")


def test_a_narrow_smoothed_hinge_is_the_hinge(data):
    X, y = np.nan_to_num(data[0]), data[1]
    expected = BoundedClassifier("hinge", tol=1e-10).fit(X, y).coef_
    narrow = BoundedClassifier("smoothed_hinge", hinge_width=1e-7, tol=1e-10).fit(X, y).coef_
    np.testing.assert_allclose(narrow, expected, atol=1e-5)


@each_model
def test_without_intercept_it_is_zero_and_certain(model, data, X_test):
    clf = clone(model).set_params(fit_intercept=False).fit(*data)
    np.testing.assert_array_equal(clf.intercept_, [0.0])
    np.testing.assert_array_equal(clf.intercept_bounds_, [0.0, 0.0])
    np.testing.assert_array_equal(clf.decision_function(X_test), X_test @ clf.coef_[0])
    np.testing.assert_array_equal(clf.decision_bounds(np.zeros((1, 4))).round(30), [[0.0, 0.0]])


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize("weights", ["none", "sample", "class", "balanced", "both"])
def test_without_holes_the_model_is_the_logistic_regression_of_scikit_learn(weights, offset, data):
    X, y = np.nan_to_num(data[0]) + offset, data[1]
    y = np.where(np.arange(150) < 90, "yes", y)  # imbalanced
    sample_weight = np.random.default_rng(4).integers(0, 4, 150) if weights in ("sample", "both") else None
    class_weight = {"class": {"yes": 0.3, "no": 5.0}, "balanced": "balanced", "both": "balanced"}.get(weights)
    clf = BoundedClassifier(alpha=0.05, class_weight=class_weight, tol=1e-12).fit(X, y, sample_weight=sample_weight)
    total = 150.0 if sample_weight is None else sample_weight.sum()
    if weights == "class":
        total = np.where(y == "yes", 0.3, 5.0).sum()
    reference = LogisticRegression(
        C=1.0 / (0.05 * total), solver="newton-cholesky", tol=1e-13, class_weight=class_weight
    ).fit(X, y, sample_weight=sample_weight)
    np.testing.assert_allclose(clf.coef_, reference.coef_, rtol=1e-6)
    np.testing.assert_allclose(clf.intercept_, reference.intercept_, rtol=1e-6)
    np.testing.assert_allclose(clf.predict_proba(X), reference.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_without_holes_the_hinge_is_optimal_in_weights_and_intercept(class_weight, l1_ratio, data):
    X, y = np.nan_to_num(data[0]), data[1]
    y = np.where(np.arange(150) < 60, "yes", y)
    clf = BoundedClassifier("hinge", alpha=0.1, l1_ratio=l1_ratio, class_weight=class_weight, tol=1e-11).fit(X, y)
    sign = np.where(y == "yes", 1.0, -1.0)
    share = np.where(sign > 0, 1.0 / (sign > 0).sum(), 1.0 / (sign < 0).sum()) if class_weight else np.ones(150)
    share = share / share.sum()

    def objective(point):
        w, b = point[:4], point[4]
        loss = share @ np.maximum(0.0, 1.0 - sign * (X @ w + b))
        return loss + 0.1 * ((1.0 - l1_ratio) / 2.0 * w @ w + l1_ratio * np.abs(w).sum())

    best = np.append(clf.coef_[0], clf.intercept_)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3, 1e-5):
        for direction in [*np.eye(5), *-np.eye(5), *rng.normal(size=(200, 5))]:
            assert objective(best) <= objective(best + size * direction) + 1e-10


def test_the_linear_svm_of_scikit_learn_is_the_hinge(data):
    X, y = np.nan_to_num(data[0]), data[1]
    clf = BoundedClassifier("hinge", alpha=0.1, tol=1e-11).fit(X, y)
    svc = SVC(kernel="linear", C=1.0 / (150 * 0.1), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(clf.coef_, svc.coef_, rtol=1e-5)
    np.testing.assert_allclose(clf.intercept_, svc.intercept_, rtol=1e-5, atol=1e-6)


def test_a_class_weight_is_a_factor_of_the_sample_weights(data, X_test):
    X, y = data
    weighted = BoundedClassifier(intervals="observed").fit(X, y, sample_weight=np.where(y == "yes", 3.0, 0.5))
    clf = BoundedClassifier(intervals="observed", class_weight={"yes": 3.0, "no": 0.5}).fit(X, y)
    np.testing.assert_array_equal(clf.decision_bounds(X_test), weighted.decision_bounds(X_test))
    one = BoundedClassifier(intervals="observed", class_weight={"yes": 6.0}).fit(X, y)
    np.testing.assert_allclose(one.decision_bounds(X_test), weighted.decision_bounds(X_test), rtol=1e-9)


def test_moving_all_columns_moves_the_intercept_only(data):
    X, y = data
    here = BoundedClassifier(intervals="observed", tol=1e-12).fit(X, y)
    there = BoundedClassifier(intervals="observed", tol=1e-12).fit(X + 8.0, y)
    np.testing.assert_allclose(here.coef_, there.coef_, rtol=1e-8)
    np.testing.assert_allclose(here.intercept_ - 8.0 * here.coef_.sum(), there.intercept_, rtol=1e-8)
