"""What is refused, and that the message names the place and the remedy. Nothing is ever silently NaN."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ipub import BoundedClassifier, BoundedRegressor, IntervalMatrix, Intervals, IpubError, IpubWarning

NAMES = ["age", "dose", "size"]
ESTIMATORS = [BoundedClassifier, BoundedRegressor]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)


@pytest.fixture
def X():
    table = np.random.default_rng(0).normal(size=(20, 3))
    table[3, 1] = table[8, 0] = np.nan
    return table


@pytest.fixture
def y():
    return np.arange(20) % 2


def frame(X):
    return pd.DataFrame(X, columns=NAMES)


def bounds_of(X):
    """Return valid bounds of every cell."""
    return np.where(np.isnan(X), -1.0, X), np.where(np.isnan(X), 1.0, X)


# --- the table -------------------------------------------------------------------------------------------------------


@each_estimator
@pytest.mark.parametrize("intervals", ["quantile", "observed", {"age": (0.0, 1.0)}])
def test_a_column_without_an_observed_value_needs_a_range(estimator, intervals, X, y):
    X[:, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"Column 'dose' has no observed value.*intervals=\{'dose': \(low, high\)\}.*drop"
    ):
        estimator(intervals=intervals).fit(frame(X), y)
    model = estimator(intervals={"dose": (0.0, 1.0)}).fit(frame(X), y)
    assert np.isfinite(model.coef_bounds_).all()


@each_estimator
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.inf, r"X contains infinity in row 5, column {}: make it NaN \(a hole\), or give a finite value"),
        (-np.inf, r"X contains infinity in row 5, column {}"),
        (1e151, r"X contains 1e\+151 in row 5, column {}, beyond 1e\+150: rescale the column"),
        (-1e300, r"X contains -1e\+300 in row 5, column {}, beyond 1e\+150"),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_infinite_and_huge_values_are_refused_by_cell(estimator, value, message, named, X, y):
    good = estimator().fit(frame(X) if named else X, y)
    X[5, 2] = value
    table, message = (frame(X) if named else X), message.format("'size'" if named else "2")
    with pytest.raises(ValueError, match=message):
        estimator().fit(table, y)
    with pytest.raises(ValueError, match=message):
        good.predict(table)


@each_estimator
@pytest.mark.parametrize(
    ("table", "word"),
    [
        (np.zeros((0, 3)), "sample"),
        (np.zeros((20, 0)), "feature"),
        (pd.DataFrame(np.zeros((0, 3))), "sample"),
        (pd.DataFrame(index=range(20)), "feature"),
        (pl.DataFrame(schema={"age": pl.Float64}), "sample"),
    ],
    ids=["no rows", "no columns", "pandas without rows", "pandas without columns", "polars without rows"],
)
def test_empty_tables_are_refused(estimator, table, word):
    with pytest.raises(ValueError, match=rf"Found array with 0 {word}\(s\)"):
        estimator().fit(table, np.arange(len(table)) % 2)


@each_estimator
@pytest.mark.parametrize("table", [np.zeros(20), [1.0] * 20, pd.Series(np.zeros(20)), np.zeros((20, 2, 2)), 3.0])
def test_a_table_has_two_dimensions(estimator, table, y):
    with pytest.raises(ValueError, match=r"2D array|2-dimensional|dim 3"):
        estimator().fit(table, y)


@each_estimator
def test_text_in_an_array_is_refused_by_cell(estimator, X, y):
    table = X.astype(object)
    table[4, 2] = "high"
    with pytest.raises(ValueError, match=r"'high'.*row 4, column 2"):
        estimator().fit(table, y)


@each_estimator
@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize("kind", [lambda v: v, lambda v: v.tolist()], ids=["array", "list"])
def test_every_sign_of_a_missing_value_is_a_hole(estimator, nothing, kind, X, y):
    expected = estimator().fit(X, y).coef_bounds_
    table = X.astype(object)
    table[np.isnan(X)] = nothing
    np.testing.assert_array_equal(estimator().fit(kind(table), y).coef_bounds_, expected)


@each_estimator
def test_masked_cells_are_holes(estimator, X, y):
    masked = np.ma.masked_array(np.where(np.isnan(X), 0.0, X), np.isnan(X))
    np.testing.assert_array_equal(estimator().fit(masked, y).coef_bounds_, estimator().fit(X, y).coef_bounds_)


@each_estimator
def test_two_columns_of_one_name_are_refused(estimator, X, y):
    with pytest.raises(ValueError, match=r"have the same name: age\. Rename"):
        estimator().fit(pd.DataFrame(X, columns=["age", "dose", "age"]), y)


@each_estimator
def test_complex_numbers_are_refused(estimator, X, y):
    with pytest.raises(ValueError, match="Complex data not supported"):
        estimator().fit(X.astype(complex), y)


# --- bounds of cells -------------------------------------------------------------------------------------------------


@each_estimator
@pytest.mark.parametrize("only", ["X_lower", "X_upper"])
def test_one_bound_without_the_other_is_refused(estimator, only, X, y):
    with pytest.raises(ValueError, match="Give both X_lower and X_upper, or neither"):
        estimator().fit(X, y, **{only: bounds_of(X)[0]})


@each_estimator
def test_a_lower_bound_above_the_upper_one_is_refused_by_cell(estimator, X, y):
    lower, upper = bounds_of(X)
    lower[3, 1] = 2.0
    with pytest.raises(ValueError, match=r"above upper bound .* in row 3, column 'dose'"):
        estimator().fit(frame(X), y, X_lower=lower, X_upper=upper)


@each_estimator
@pytest.mark.parametrize("which", [0, 1], ids=["X_lower", "X_upper"])
@pytest.mark.parametrize("off", [-0.5, 0.5, 1e-15])
def test_bounds_that_differ_from_an_observed_cell_are_refused_by_cell(estimator, which, off, X, y):
    bounds = bounds_of(X)
    bounds[which][6, 2] += off
    name = ("X_lower", "X_upper")[which]
    with pytest.raises(
        ValueError, match=rf"{name} is .* in row 6, column 'size', where X is observed as .*from_bounds"
    ):
        estimator().fit(frame(X), y, X_lower=bounds[0], X_upper=bounds[1])


@each_estimator
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "X_upper contains NaN in row 3, column 'dose': give a finite bound"),
        (np.inf, "X_upper contains infinity in row 3, column 'dose'"),
        (1e151, r"X_upper contains 1e\+151 in row 3, column 'dose', beyond 1e\+150"),
    ],
)
def test_bounds_that_are_no_finite_numbers_are_refused_by_cell(estimator, value, message, X, y):
    lower, upper = bounds_of(X)
    upper[3, 1] = value
    with pytest.raises(ValueError, match=message):
        estimator().fit(frame(X), y, X_lower=lower, X_upper=upper)


@each_estimator
@pytest.mark.parametrize("which", [0, 1], ids=["X_lower", "X_upper"])
@pytest.mark.parametrize(
    "change", [lambda b: b[:-1], lambda b: b[:, :2], lambda b: b.T, lambda b: b[0], lambda b: 0.0],
    ids=["fewer rows", "fewer columns", "transposed", "one row", "a number"],
)  # fmt: skip
def test_bounds_of_another_shape_are_refused_by_name(estimator, which, change, X, y):
    bounds = list(bounds_of(X))
    bounds[which] = change(bounds[which])
    name = ("X_lower", "X_upper")[which]
    with pytest.raises(ValueError, match=rf"{name} (has shape .* but X has shape \(20, 3\)|must be a table)"):
        estimator().fit(X, y, X_lower=bounds[0], X_upper=bounds[1])


@each_estimator
def test_bounds_beside_an_interval_matrix_are_refused(estimator, X, y):
    lower, upper = bounds_of(X)
    with pytest.raises(ValueError, match="has its own bounds: leave out X_lower and X_upper"):
        estimator().fit(IntervalMatrix.from_bounds(lower, upper), y, X_lower=lower, X_upper=upper)


@each_estimator
@pytest.mark.parametrize("value", [np.inf, 1e200])
@pytest.mark.parametrize("where", ["a cell", "a range"])
def test_an_interval_matrix_with_numbers_that_no_bound_survives_is_refused(estimator, value, where, X, y):
    ranges = np.tile([-1.0, 1.0], (3, 1))
    if where == "a cell":
        X[5, 2] = value
    else:
        ranges[1, 1] = value
    with pytest.raises(ValueError, match=r"row 5, column 2|row 3, column 1|column|radius"):
        estimator().fit(IntervalMatrix.from_table(X, ranges), y)


# --- intervals and other parameters ----------------------------------------------------------------------------------


@each_estimator
@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        ("median", "intervals='median' is not known: use 'quantile', 'observed'"),
        ({"weight": (0, 1)}, r"column 'weight', which X does not have \(columns are 'age', 'dose', 'size'\)"),
        ({"dose": (2, 1)}, "range of column 'dose' has its lower end 2 above its upper end 1"),
        ({"dose": (0, np.inf)}, "range of column 'dose' must be finite"),
        ({"dose": (0, 1e151)}, r"range of column 'dose' goes beyond 1e\+150: rescale"),
        (np.zeros((2, 2)), r"must have shape \(3, 2\)"),
        ([[0.0, 1.0]], r"must have shape \(3, 2\)"),
    ],
)
def test_ranges_that_make_no_sense_are_refused_by_name(estimator, intervals, message, X, y):
    with pytest.raises(ValueError, match=message):
        estimator(intervals=intervals).fit(frame(X), y)


@each_estimator
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 0.0),
        ("alpha", -1.0),
        ("alpha", np.nan),
        ("alpha", np.inf),
        ("alpha", "small"),
        ("alpha", None),
        ("l1_ratio", 1.0),
        ("l1_ratio", -0.1),
        ("l1_ratio", np.nan),
        ("loss", "poisson"),
        ("loss", None),
        ("certificate", "cube"),
        ("certificate", 3),
        ("intervals", None),
        ("intervals", 3),
        ("interval_level", -0.1),
        ("interval_level", 1.1),
        ("interval_level", np.nan),
        ("tol", 0.0),
        ("tol", -1.0),
        ("tol", np.nan),
        ("max_iter", 0),
        ("max_iter", 2.5),
        ("scale", 1),
        ("fit_intercept", "yes"),
        ("verbose", "yes"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(estimator, name, value, X, y):
    with pytest.raises(ValueError, match=rf"The '{name}' parameter of {estimator.__name__} must be"):
        estimator(**{name: value}).fit(X, y)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, "wide", None])
@pytest.mark.parametrize(
    ("estimator", "name"),
    [(BoundedClassifier("smoothed_hinge"), "hinge_width"), (BoundedRegressor("huber"), "huber_delta")],
)
def test_a_parameter_of_a_loss_out_of_range_is_refused_by_name(estimator, name, value, X, y):
    with pytest.raises(ValueError, match=rf"The '{name}' parameter of {type(estimator).__name__} must be"):
        clone(estimator).set_params(**{name: value}).fit(X, y)


@pytest.mark.parametrize("value", [1e-120, 1e120])
@pytest.mark.parametrize(
    ("estimator", "name", "what"),
    [
        (BoundedClassifier("smoothed_hinge"), "hinge_width", "width of the smoothed hinge"),
        (BoundedRegressor("huber"), "huber_delta", "delta of Huber's loss"),
    ],
)
def test_a_parameter_of_a_loss_that_could_overflow_is_refused(estimator, name, what, value, X, y):
    with pytest.raises(ValueError, match=rf"The {what} is 1e[-+]120; it must be between"):
        clone(estimator).set_params(**{name: value}).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        (BoundedClassifier, "squared_error"),
        (BoundedRegressor, "log_loss"),
        (BoundedRegressor, "hinge"),
        (BoundedRegressor, "squared_hinge"),
        (BoundedRegressor, "smoothed_hinge"),
        (BoundedClassifier, "huber"),
    ],
)
def test_a_loss_of_the_other_task_is_refused(estimator, loss, X, y):
    with pytest.raises(ValueError, match="The 'loss' parameter"):
        estimator(loss=loss).fit(X, y)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("heavy", "The 'class_weight' parameter of BoundedClassifier must be"),
        ({0: -1.0}, r"The class_weight of 0 is -1.0: it must be from 0"),
        ({1: np.nan}, r"The class_weight of 1 is nan"),
        ({7: 1.0}, "are not in class_weight"),
        ({0: 0.0}, "all rows that count are of one class, 1"),
        ({0: 0.0, 1: 0.0}, "all rows that count are of one class, none"),
    ],
)
def test_a_bad_class_weight_is_refused(class_weight, message, X, y):
    with pytest.raises(ValueError, match=message):
        BoundedClassifier(class_weight=class_weight).fit(X, y)


@each_estimator
@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("scale", "robust", "The 'scale' parameter.*'minmax'"),
        ("handle_unknown", "ignore", "handle_unknown of Intervals is 'ignore': use 'any' or 'error'"),
        ("level", 1.5, "level of Intervals is 1.5: give a fraction"),
        ("precision", -1.0, "precision of Intervals is -1.0: give a number"),
        ("precision", "half", "precision of Intervals is 'half': give a number"),
        ("precision", {"age": -1.0}, "The precision of column 'age' is -1.0: give a number that is not negative"),
        ("precision", {"age": "half"}, "The precision of column 'age' is 'half'"),
        ("precision", {"age": np.nan}, "The precision of column 'age' is nan"),
        ("precision", {"weight": 1.0}, "precision names the column 'weight', which X does not have"),
    ],
)
def test_bad_scales_and_precisions_are_refused(estimator, parameter, value, message, X, y):
    with pytest.raises(ValueError, match=message):
        estimator().set_params(**{parameter if parameter == "scale" else f"intervals__{parameter}": value}).fit(
            frame(X), y
        )


@each_estimator
def test_a_precision_beside_bounds_of_the_cells_is_refused(estimator, X, y):
    lower, upper = bounds_of(X)
    with pytest.raises(ValueError, match="so precision is not used: leave it out"):
        estimator(intervals=Intervals(precision=0.1)).fit(X, y, X_lower=lower, X_upper=upper)


@each_estimator
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("alpha", [1e-140, 1e-100, 1e100, 1e150])
@pytest.mark.filterwarnings("ignore:The relative duality gap")
def test_an_extreme_alpha_gives_bounds_without_nan_and_without_noise(estimator, alpha, l1_ratio, X, y):
    model = estimator(alpha=alpha, l1_ratio=l1_ratio, max_iter=30).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert not np.isnan(model.coef_bounds_).any()
    assert (model.coef_bounds_[:, 0] <= model.coef_bounds_[:, 1]).all()


@each_estimator
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("alpha", [5e-324, 1e-310, 1e-151, 1e151, 9e307])
def test_an_alpha_beyond_all_reason_is_refused_by_name(estimator, alpha, l1_ratio, X, y):
    with pytest.raises(ValueError, match="alpha"):
        estimator(alpha=alpha, l1_ratio=l1_ratio).fit(X, y)


# --- labels and weights ----------------------------------------------------------------------------------------------


@each_estimator
@pytest.mark.parametrize(
    "make",
    [
        lambda v: np.array([np.nan if k == 4 else value for k, value in enumerate(v)], dtype=float),
        lambda v: [None if k == 4 else value for k, value in enumerate(v)],
        lambda v: np.array([None if k == 4 else value for k, value in enumerate(v)], dtype=object),
        lambda v: pd.Series([pd.NA if k == 4 else value for k, value in enumerate(v)], dtype="Int64"),
        lambda v: pd.Series([pd.NA if k == 4 else value for k, value in enumerate(v)], dtype="Float64"),
        lambda v: pd.Series([pd.NA if k == 4 else value for k, value in enumerate(v)], dtype=object),
        lambda v: pl.Series([None if k == 4 else int(value) for k, value in enumerate(v)]),
    ],
    ids=["nan", "list None", "object None", "pandas Int64", "pandas Float64", "pandas object NA", "polars null"],
)
def test_a_missing_label_is_refused_by_row(estimator, make, X, y):
    with pytest.raises(ValueError, match=r"y contains NaN: row 4 has no label \(1 row\(s\) in all\)\. Drop these rows"):
        estimator().fit(X, make(y))


@pytest.mark.parametrize("dtype", [object, "string", "str", "category"])
def test_a_missing_label_among_words_is_refused_by_row(dtype, X):
    labels = pd.Series(["no", "yes"] * 10, dtype=dtype)
    labels[4] = None
    with pytest.raises(ValueError, match="y contains NaN: row 4 has no label"):
        BoundedClassifier().fit(X, labels)


@each_estimator
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_an_infinite_label_is_refused(estimator, value, X, y):
    with pytest.raises(ValueError, match="y contains infinity"):
        estimator().fit(X, np.where(np.arange(20) == 4, value, y))


@pytest.mark.parametrize("value", [1e151, -1e200])
def test_a_huge_target_is_refused_by_row(value, X, y):
    with pytest.raises(ValueError, match=r"y contains .* in row 4.*beyond 1e\+150: rescale"):
        BoundedRegressor().fit(X, np.where(np.arange(20) == 4, value, y))


def test_words_are_no_targets(X):
    with pytest.raises(ValueError, match="could not convert string to float"):
        BoundedRegressor().fit(X, ["a", "b"] * 10)


@each_estimator
@pytest.mark.parametrize("labels", [np.arange(19) % 2, np.arange(21) % 2, []])
def test_labels_for_another_number_of_rows_are_refused(estimator, labels, X):
    with pytest.raises(ValueError, match=rf"X has 20 rows, y has {len(labels)}"):
        estimator().fit(X, labels)


@each_estimator
def test_labels_are_needed_and_one_for_each_row(estimator, X, y):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        estimator().fit(X, None)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        estimator().fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("label", [0, "yes", True])
def test_one_class_is_refused_by_its_name(label, X):
    with pytest.raises(ValueError, match=rf"must have two classes, .* one class, .*{label}"):
        BoundedClassifier().fit(X, [label] * 20)


def test_one_class_among_the_rows_that_count_is_refused(X, y):
    with pytest.raises(ValueError, match=r"all rows that count are of one class, .*1"):
        BoundedClassifier().fit(X, y, sample_weight=y)


def test_a_class_whose_rows_all_weigh_nothing_is_refused_by_its_name(X):
    labels = np.array((["a", "b", "c"] * 7)[:20])
    with pytest.raises(ValueError, match="All rows of class c have the weight zero: leave them out"):
        BoundedClassifier().fit(X, labels, sample_weight=labels != "c")


def test_targets_of_a_regression_are_no_classes(X):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        BoundedClassifier().fit(X, np.linspace(0.0, 1.0, 20))


@each_estimator
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, r"sample_weight is -1\.0 in row 4"),
        (np.nan, "sample_weight is nan in row 4"),
        (np.inf, "sample_weight is inf in row 4"),
        (1e151, r"sample_weight is 1e\+151 in row 4"),
        (1e-160, "sample_weight is 1e-160 in row 4, too small beside the largest, 1: make it 0"),
    ],
)
def test_weights_that_weigh_nothing_sensible_are_refused_by_row(estimator, value, message, X, y):
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, y, sample_weight=np.where(np.arange(20) == 4, value, 1.0))


@each_estimator
def test_weights_that_are_all_zero_are_refused(estimator, X, y):
    with pytest.raises(ValueError, match="Every sample_weight is zero: at least one row must have a positive weight"):
        estimator().fit(X, y, sample_weight=np.zeros(20))


@each_estimator
@pytest.mark.parametrize("weights", [np.ones(19), np.ones((20, 2)), []])
def test_weights_of_another_shape_are_refused(estimator, weights, X, y):
    with pytest.raises(ValueError, match=r"sample_weight\.shape|1d array"):
        estimator().fit(X, y, sample_weight=weights)


# --- what comes after fit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "method"),
    [(BoundedRegressor, name) for name in ("predict", "predict_bounds")]
    + [
        (BoundedClassifier, name)
        for name in (
            "predict", "decision_function", "predict_proba", "decision_bounds", "predict_proba_bounds", "predict_set",
        )
    ],
)  # fmt: skip
def test_nothing_is_predicted_before_fit(estimator, method, X):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(estimator(), method)(X)


def test_a_failed_fit_leaves_an_unfitted_estimator_unfitted(X, y):
    clf = BoundedClassifier()
    with pytest.raises(ValueError, match="two classes"):
        clf.fit(X, np.zeros(20))
    with pytest.raises(NotFittedError):
        clf.predict(X)


@each_estimator
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-20, 1e20, 1e75, 1e149])
@pytest.mark.filterwarnings("ignore:The relative duality gap")
def test_tables_of_any_size_of_numbers_never_give_nan(estimator, scale, X, y):
    table = np.clip(X, -5.0, 5.0) * scale
    model = estimator(max_iter=30).fit(table, y)
    method = "predict_bounds" if estimator is BoundedRegressor else "decision_bounds"
    rows = np.nan_to_num(table)
    bounds = getattr(model, method)(rows)
    assert not np.isnan(bounds).any()
    assert not np.isnan(model.coef_).any()
    assert (bounds[:, 0] <= bounds[:, 1]).all()
    assert np.isfinite(model.coef_bounds_).all()


@pytest.mark.parametrize("scale", [1e-150, 1e-80, 1e75, 1e149])
@pytest.mark.filterwarnings("ignore:The relative duality gap")
def test_targets_of_any_size_never_give_nan(scale, X, y):
    model = BoundedRegressor().fit(X, (y - 0.5) * scale)
    bounds = model.predict_bounds(np.nan_to_num(X))
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] <= model.predict(np.nan_to_num(X))).all()
    assert (model.predict(np.nan_to_num(X)) <= bounds[:, 1]).all()


# --- who is who -------------------------------------------------------------------------------------------------------


@each_estimator
def test_a_key_of_intervals_is_a_label_where_labels_are_numbers(estimator, X, y):
    frame = pd.DataFrame(X, columns=[2, 0, 1])
    by_label = estimator(intervals={2: (-7.0, 7.0)}).fit(frame, y)
    by_position = estimator(intervals={0: (-7.0, 7.0)}).fit(X, y)
    np.testing.assert_array_equal(by_label.coef_bounds_, by_position.coef_bounds_)
    with pytest.raises(ValueError, match="names the column 3"):
        estimator(intervals={3: (0.0, 1.0)}).fit(pd.DataFrame(X, columns=[10, 20, 30]), y)


@each_estimator
def test_a_column_given_twice_is_refused(estimator, X, y):
    with pytest.raises(ValueError, match="column 'a' twice"):
        estimator(intervals={"a": (0.0, 1.0), 0: (5.0, 9.0)}).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)


@each_estimator
def test_bounds_whose_columns_come_in_another_order_are_refused(estimator, X, y):
    lower, upper = (pd.DataFrame(bound, columns=["a", "b", "c"]) for bound in bounds_of(X))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    estimator().fit(frame, y, X_lower=lower, X_upper=upper)
    with pytest.raises(ValueError, match="columns of X_lower are not those of X"):
        estimator().fit(frame, y, X_lower=lower[["b", "a", "c"]], X_upper=upper)


@each_estimator
def test_intervals_beside_bounds_are_refused(estimator, X, y):
    lower, upper = bounds_of(X)
    with pytest.raises(ValueError, match="intervals is not used"):
        estimator(intervals="observed").fit(X, y, X_lower=lower, X_upper=upper)
    with pytest.raises(ValueError, match="intervals is not used"):
        estimator(intervals={0: (0.0, 1.0)}).fit(IntervalMatrix.from_bounds(lower, upper), y)


@each_estimator
@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_single_weight_that_is_not_positive_is_refused(estimator, weight, X, y):
    with pytest.raises(ValueError, match="weight"):
        estimator().fit(X, y, sample_weight=weight)


@each_estimator
def test_dates_are_refused(estimator, X, y):
    with pytest.raises(ValueError, match="dates or durations"):
        estimator().fit(np.full((20, 3), np.datetime64("2020-01-01")), y)


# --- labels and weights as masked arrays and as columns --------------------------------------------


def masked(values, *rows):
    return np.ma.array(values, mask=np.isin(np.arange(len(values)), rows))


def test_what_a_mask_hides_is_never_used(X, y):
    for kind in (BoundedClassifier, BoundedRegressor):
        model = kind(certificate=None)
        with pytest.raises(
            IpubError, match=r"y is masked in row 2 \(2 row\(s\) in all\)\. Give a value, or drop"
        ) as caught:
            model.fit(X, masked(y, 2, 5))
        assert caught.value.row == 2
        assert ("unknown_labels" in str(caught.value)) == (kind is BoundedClassifier)
        with pytest.raises(IpubError, match="sample_weight is masked in row 1"):
            model.fit(X, y, sample_weight=masked(np.ones(len(y)), 1))
        with pytest.raises(IpubError, match="X_upper must not be masked"):
            model.fit(X, y, X_lower=bounds_of(X)[0], X_upper=np.ma.array(bounds_of(X)[1], mask=X[0, 0] < X))
        np.testing.assert_array_equal(model.fit(X, masked(y)).coef_, clone(model).fit(X, y).coef_)
        with pytest.raises(IpubError, match="y is masked in row 0"):
            model.score(X, masked(y, 0))
    with pytest.raises(IpubError, match="y_lower is masked in row 4"):
        BoundedRegressor().fit(X, y, y_lower=masked(y, 4), y_upper=y)


@pytest.mark.parametrize("kind", [int, float, str, object])
def test_masked_labels_may_be_unknown_ones(X, y, kind):
    labels = y.astype(kind)
    model = BoundedClassifier(unknown_labels=True, alpha=1.0).fit(X, masked(labels, 3, 7))
    other = labels.astype(object)
    other[[3, 7]] = None
    expected = BoundedClassifier(unknown_labels=True, alpha=1.0).fit(X, other)
    np.testing.assert_array_equal(model.decision_bounds(X), expected.decision_bounds(X))
    assert model.classes_.tolist() == expected.classes_.tolist()


@pytest.mark.filterwarnings("ignore:A column-vector y:sklearn.exceptions.DataConversionWarning")
@each_estimator
def test_labels_in_a_column_have_the_errors_of_others(estimator, X, y):
    kind = type(estimator) if not isinstance(estimator, type) else estimator
    for wrong, message in [
        (np.nan, "Input y contains NaN: row 3 has no label"),
        (np.inf, "contains infinity in row 3"),
    ]:
        labels = y.astype(float)
        labels[3] = wrong
        for column in (labels[:, None], [[label] for label in labels], pd.DataFrame({"y": labels})):
            with pytest.raises(IpubError, match=message):
                kind().fit(X, column)
    model = kind(certificate=None)
    np.testing.assert_array_equal(model.fit(X, y[:, None]).coef_, clone(model).fit(X, y).coef_)
    if kind is BoundedClassifier:
        words = np.where(y > 0, "a", "b").astype(object)
        words[5] = None
        with pytest.raises(IpubError, match="row 5 has no label"):
            kind().fit(X, words[:, None])
        unknown = kind(unknown_labels=True, certificate=None)
        np.testing.assert_array_equal(unknown.fit(X, words[:, None]).coef_, clone(unknown).fit(X, words).coef_)


# --- columns of huge numbers -----------------------------------------------------------------------


@each_estimator
def test_a_column_beside_which_others_are_lost_is_named(estimator, X, y):
    kind = type(estimator) if not isinstance(estimator, type) else estimator
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(big=1e25)
    with pytest.warns(
        IpubWarning, match=r"Column 'big' goes up to 1e\+25: .* Correct it, rescale it, or drop"
    ) as caught:
        kind(certificate=None, max_iter=1, tol=1e300).fit(frame, y)
    assert caught[0].message.column == "big"
    # Of one value nothing is left if it is moved, not even a rounding error of a thousand millions.
    model = kind(scale="standard", alpha=1.0).fit(frame, y)
    np.testing.assert_array_equal(model.scaling_.rows(model.fill_values_[None] * 0.0 + 1e25)[0, -1], 0.0)
    bounds = "decision_bounds" if kind is BoundedClassifier else "predict_bounds"
    without = kind(scale="standard", alpha=1.0).fit(frame.drop(columns="big"), y)
    np.testing.assert_allclose(
        getattr(model, bounds)(frame[:5]), getattr(without, bounds)(frame.drop(columns="big")[:5]), rtol=1e-6
    )


@pytest.mark.parametrize("what", ["frame", "target", "weight"])
def test_whole_numbers_beyond_all_floats_are_refused_by_their_row(what):
    huge, usual = [10**400, 1], [1.0, 2.0]
    X = pd.DataFrame({"a": huge if what == "frame" else usual})
    y, weight = (huge if what == "target" else usual), (huge if what == "weight" else None)
    with pytest.raises(IpubError, match="row 0"):
        BoundedRegressor().fit(X, y, sample_weight=weight)
