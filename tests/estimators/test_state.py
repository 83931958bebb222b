"""An estimator is fitted, wholly and to its present parameters, or it says that it is not."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

import ipub.training.fit as fit_module
import ipub.training.models as models_module
import ipub.training.reading.table as table_module
import ipub.training.training as training_module
from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, Intervals, certify, penalty_path
from ipub.app.files.modelfile import load, save

KINDS = [BoundedClassifier, BoundedRegressor]
each_kind = pytest.mark.parametrize("kind", KINDS)


def data_for(kind, seed=0, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(20.0, 5.0, size=(60, n_features))
    score = 0.1 * (X[:, 0] - 20.0) + rng.normal(size=60)
    X[:6, 1] = np.nan
    return X, (score > 0.0).astype(int) if kind is BoundedClassifier else score


def bounds_of(model, X):
    return model.decision_bounds(X) if is_classifier(model) else model.predict_bounds(X)


X_TEST = np.array([[22.0, 18.0, 19.0], [15.0, np.nan, 30.0]])


def answers(model):
    """Return everything that a fitted model says."""
    rows = X_TEST[:, : model.n_features_in_]
    return {
        "predict": model.predict(rows),
        "bounds": bounds_of(model, rows),
        "attained": model.attained_bounds(rows),
        "names": model.get_feature_names_out(),
    }


def assert_same_answers(before, after):
    for name, value in before.items():
        np.testing.assert_array_equal(value, after[name], err_msg=name)


# --- a fit that fails ------------------------------------------------------------------------------------------------


def test_a_refused_refit_with_another_scale_leaves_no_new_scaling_with_the_old_certificate():
    """The weight of row 0 is refused after the scaling has been learnt."""
    X, y = data_for(BoundedRegressor)
    reg = BoundedRegressor().fit(X, y)
    before = answers(reg)
    reg.set_params(scale="standard")
    with pytest.raises(ValueError, match="too small beside the largest"):
        reg.fit(X, y, sample_weight=np.r_[1e-300, np.full(59, 1e10)])
    assert reg.scaling_ is None
    with pytest.raises(NotFittedError, match=r"scale was None.*'standard' now"):
        reg.predict_bounds(X_TEST)
    assert_same_answers(before, answers(reg.set_params(scale=None)))


class Injected(Exception):
    """Raised by what is planted."""


def planted(kind_of_error):
    def fail(*args, **kwargs):
        raise kind_of_error("planted")

    return fail


STAGES = {
    "the columns": (table_module, "column_ranges"),
    "the scaling": (table_module.Scaling, "learn"),
    "the rows": (table_module, "MemoryRows"),
    "the solver": (models_module, "solve"),
    "the certificate": (training_module.CERTIFICATES, "tight"),
    "the bounds of the weights": (training_module.Certificate, "score_bounds"),
    "the last step of training": (training_module.Training, "of"),
}


def plant(monkeypatch, stage, error):
    monkeypatch.setattr(fit_module, "KEPT_CELLS", 0)  # so that all stages are in fit, as of large tables
    place, name = STAGES[stage]
    if isinstance(place, dict):
        monkeypatch.setitem(place, name, replace(place[name], make=planted(error)))
    else:
        monkeypatch.setattr(place, name, planted(error))


BAD_DATA = {
    "a table with an infinite cell": lambda X, y: {"X": np.where(X > 25.0, np.inf, X), "y": y},
    "a table of text": lambda X, y: {"X": np.full(X.shape, "a"), "y": y},
    "bounds that cross": lambda X, y: {"X": X, "y": y, "X_lower": X + 1.0, "X_upper": X - 1.0},
    "labels of another length": lambda X, y: {"X": X, "y": y[:-1]},
    "labels that are missing": lambda X, y: {"X": X, "y": np.where(np.arange(60) < 3, np.nan, y)},
    "weights below zero": lambda X, y: {"X": X, "y": y, "sample_weight": np.arange(60.0) - 1.0},
    "weights of which one is too small": lambda X, y: {
        "X": X,
        "y": y,
        "sample_weight": np.r_[1e-300, np.full(59, 9.0)],
    },
}


@pytest.mark.share(2)
@pytest.mark.no_cover
@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("bad", BAD_DATA.values(), ids=BAD_DATA)
@each_kind
def test_data_that_is_refused_leaves_a_fitted_model_as_it_was(kind, bad, scale):
    model = kind(scale=scale).fit(*data_for(kind))
    state, before = dict(vars(model)), answers(model)
    with pytest.raises(ValueError, match=r".+"):
        model.fit(**bad(*data_for(kind, seed=1)))
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())
    assert_same_answers(before, answers(model))


@pytest.mark.share(3)
@pytest.mark.parametrize("error", [Injected, MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize("stage", STAGES)
@each_kind
def test_a_failure_or_an_interrupt_at_any_stage_leaves_a_fitted_model_as_it_was(kind, stage, error, monkeypatch):
    model = kind(scale="minmax").fit(*data_for(kind))
    state, before = dict(vars(model)), answers(model)
    # Another table with other columns, so that any part of a new state would show.
    X, y = data_for(kind, seed=1, n_features=2)
    with monkeypatch.context() as patch:
        plant(patch, stage, error)
        with pytest.raises(error, match="planted"):
            model.fit(X, y)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())
    assert_same_answers(before, answers(model))
    # It is not spoilt: the next fit is as good as any.
    assert_same_answers(answers(clone(model).fit(X, y)), answers(model.fit(X, y)))


@pytest.mark.parametrize("error", [Injected, KeyboardInterrupt])
@pytest.mark.parametrize("stage", STAGES)
@each_kind
def test_a_failure_at_any_stage_leaves_an_unfitted_model_unfitted(kind, stage, error, monkeypatch):
    model = kind(scale="minmax")
    state = dict(vars(model))
    plant(monkeypatch, stage, error)
    with pytest.raises(error, match="planted"):
        model.fit(*data_for(kind))
    assert vars(model) == state
    with pytest.raises(NotFittedError):
        bounds_of(model, X_TEST)


@pytest.mark.parametrize("stage", ["the columns", "the rows", "the solver", "the certificate"])
@each_kind
def test_a_failed_path_leaves_its_estimator_and_tables_as_they_were(kind, stage, monkeypatch):
    model = kind().fit(*data_for(kind))
    state, before = dict(vars(model)), answers(model)
    X, y = data_for(kind, seed=1)
    copies = X.copy(), y.copy()
    place, name = STAGES[stage]
    with monkeypatch.context() as patch:
        if stage == "the certificate":
            patch.setattr(training_module.Training, "of", planted(KeyboardInterrupt))
        else:
            patch.setattr(place, name, planted(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            penalty_path(model, X, y, X_TEST, alphas=[1.0, 0.1])
    assert all(vars(model)[name] is value for name, value in state.items())
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])
    assert_same_answers(before, answers(model))


@pytest.mark.parametrize("stage", ["the columns", "the rows", "the certificate", "the last step of training"])
@each_kind
def test_a_failed_certify_leaves_the_model_and_its_table_as_they_were(kind, stage, monkeypatch):
    X, y = data_for(kind)
    filled = np.nan_to_num(X, nan=20.0)
    theirs = (LogisticRegression(C=0.01) if kind is BoundedClassifier else Ridge(5.0)).fit(filled, y)
    state, copies = copy.deepcopy(vars(theirs)), (X.copy(), y.copy())
    plant(monkeypatch, stage, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        certify(theirs, X, y)
    for name, value in state.items():
        np.testing.assert_array_equal(getattr(theirs, name), value)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(y, copies[1])


# --- parameters that change after fit --------------------------------------------------------------------------------

CHANGES = {
    BoundedClassifier: {
        "loss": "hinge",
        "alpha": 0.2,
        "l1_ratio": 0.5,
        "fit_intercept": False,
        "certificate": "sphere",
        "intervals": "observed",
        "scale": "standard",
        "class_weight": "balanced",
        "unknown_labels": True,
        "max_label_errors": 1,
        "hinge_width": 0.1,
        "uncertainty": Budget(cells=1),
    },
    BoundedRegressor: {
        "loss": "huber",
        "alpha": 0.2,
        "l1_ratio": 0.5,
        "fit_intercept": False,
        "certificate": "sphere",
        "intervals": {0: (0.0, 1.0)},
        "scale": "standard",
        "huber_delta": 0.1,
        "uncertainty": Draws(n_draws=3, random_state=0),
    },
}
FREE = {"effort": 2.0, "tol": 1e-3, "max_iter": 5, "random_state": 3, "verbose": 1}
METHODS = {
    BoundedClassifier: [
        "predict", "decision_function", "predict_proba", "decision_bounds", "predict_proba_bounds", "predict_set",
        "attained_bounds",
    ],
    BoundedRegressor: ["predict", "predict_bounds", "attained_bounds"],
}  # fmt: skip
each_change = pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in KINDS for name in CHANGES[kind]], ids=lambda value: str(value)
)


@each_kind
def test_every_parameter_is_either_free_or_has_a_meaning(kind):
    assert {*CHANGES[kind], *FREE} == set(kind().get_params())


def through_nothing(model, folder):
    return model


def through_a_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


def through_a_copy(model, folder):
    return copy.deepcopy(model)


def through_a_file(model, folder):
    save(model, folder / "model.ipub")
    return load(folder / "model.ipub")


@pytest.mark.parametrize("through", [through_nothing, through_a_pickle, through_a_copy, through_a_file])
@each_change
def test_a_changed_parameter_is_named_at_the_next_call_until_it_is_set_back(kind, name, through, tmp_path):
    model = through(kind(certificate="ball").fit(*data_for(kind)), tmp_path)
    before, bounds = getattr(model, name), bounds_of(model, X_TEST)
    model.set_params(**{name: CHANGES[kind][name]})
    for method in METHODS[kind]:
        with pytest.raises(NotFittedError) as error:
            getattr(model, method)(X_TEST)
        message = str(error.value)
        assert message.startswith(f"{name} was {before!r} when this {kind.__name__} was fitted")
        assert f"is {CHANGES[kind][name]!r} now: call fit again, or set it back." in message
    with pytest.raises(NotFittedError, match=name):
        save(model, tmp_path / "other.ipub")
    assert not (tmp_path / "other.ipub").exists()
    setattr(model, name, before)
    np.testing.assert_array_equal(bounds_of(model, X_TEST), bounds)


@pytest.mark.parametrize("name", FREE)
@each_kind
def test_parameters_that_only_steer_later_calls_may_change(kind, name):
    model = kind().fit(*data_for(kind))
    bounds = bounds_of(model, X_TEST)
    model.set_params(**{name: FREE[name]})
    np.testing.assert_array_equal(bounds_of(model, X_TEST), bounds)


@pytest.mark.no_cover
@each_change
def test_fit_after_a_change_is_the_fit_of_a_new_model(kind, name):
    X, y = data_for(kind)
    model = kind().fit(*data_for(kind, seed=1)).set_params(**{name: CHANGES[kind][name]})
    np.testing.assert_array_equal(
        bounds_of(model.fit(X, y), X_TEST), bounds_of(kind(**{name: CHANGES[kind][name]}).fit(X, y), X_TEST)
    )


def test_parameters_changed_in_place_are_noticed():
    ranges = np.tile([0.0, 40.0], (3, 1))
    by_array = BoundedRegressor(intervals=ranges).fit(*data_for(BoundedRegressor))
    by_name = BoundedClassifier(class_weight={0: 1.0, 1: 2.0}).fit(*data_for(BoundedClassifier))
    ranges[1, 1] = 50.0
    by_name.class_weight[1] = 3.0
    for model in (by_array, by_name):
        with pytest.raises(NotFittedError, match="call fit again, or set it back"):
            bounds_of(model, X_TEST)


@pytest.mark.parametrize(
    ("name", "given", "same", "other"),
    [
        ("alpha", 0.1, np.float64(0.1), 0.1000001),
        ("fit_intercept", True, np.True_, np.False_),
        ("intervals", [(0.0, 40.0)] * 3, np.tile([0.0, 40.0], (3, 1)), [(0.0, 40.0)] * 2 + [(0.0, 41.0)]),
        ("intervals", {1: (0.0, 40.0)}, {1: [0.0, 40.0]}, {1: (0.0, 40.0), 2: (0.0, 40.0)}),
        ("intervals", {1: "observed"}, {1: "observed"}, {1: "quantile"}),
        ("intervals", [(0.0, 40.0)] * 3, [(0.0, 40.0)] * 3, [(0.0,), (0.0, 1.0)]),
        ("intervals", Intervals(precision={0: 0.1}), Intervals(precision={0: 0.1}), Intervals(precision=0.1)),
        ("intervals", Intervals(precision=0.0), Intervals(precision=0, handle_unknown="error"), Intervals()),
    ],
)
def test_equal_values_are_no_change(name, given, same, other):
    model = BoundedRegressor(**{name: given}).fit(*data_for(BoundedRegressor))
    bounds = model.predict_bounds(X_TEST)
    np.testing.assert_array_equal(model.set_params(**{name: same}).predict_bounds(X_TEST), bounds)
    with pytest.raises(NotFittedError, match=rf"^{name} was"):
        model.set_params(**{name: other}).predict_bounds(X_TEST)


@each_kind
def test_the_training_is_kept_until_a_result_is_set(kind):
    model = kind().fit(*data_for(kind))
    training = model.training_
    assert model.training_ is training
    again = pickle.loads(pickle.dumps(model))
    assert again.training_ is again.training_
    assert not again.training_.models
    assert not any(isinstance(value, type(training)) for value in vars(clone(model)).values())
    predicted = model.predict(X_TEST)
    model.intercept_ = model.intercept_ + 100.0
    assert model.training_.models is training.models
    assert (model.predict(X_TEST) != predicted).any()


def test_certified_and_path_estimators_are_held_to_their_parameters():
    X, y = data_for(BoundedClassifier)
    theirs = LogisticRegression(C=0.01).fit(np.nan_to_num(X, nan=20.0), y)
    for model in (certify(theirs, X, y), penalty_path(BoundedClassifier(), X, y, X_TEST, alphas=[0.5]).estimators[0]):
        assert model.decision_bounds(X_TEST).shape == (2, 2)
        with pytest.raises(NotFittedError, match="alpha was"):
            model.set_params(alpha=0.123).decision_bounds(X_TEST)


def test_a_long_value_is_cut_in_the_message():
    model = BoundedRegressor(intervals=np.tile([0.0, 40.0], (3, 1))).fit(*data_for(BoundedRegressor))
    model.set_params(intervals=np.tile([0.0, 41.0], (300, 1)))
    with pytest.raises(NotFittedError) as error:
        model.predict_bounds(X_TEST)
    assert len(str(error.value)) < 300


# --- the training as one object --------------------------------------------------------------------------------------


@each_kind
def test_the_training_of_a_fitted_model_is_its_public_attribute(kind, tmp_path):
    X, y = data_for(kind)
    model = kind().fit(X, y)
    training = model.training_
    assert training.models[0].problem.rows.n_rows == 60
    np.testing.assert_array_equal(np.ravel(training.coef), np.ravel(model.coef_))
    np.testing.assert_array_equal(training.coef_bounds[0], model.coef_bounds_)
    rows = training.table.uncertain_rows(X_TEST)
    np.testing.assert_array_equal(training.score_bounds(rows), bounds_of(model, X_TEST))
    for through in (through_a_pickle, through_a_copy, through_a_file):
        assert through(model, tmp_path).training_.models == ()
    assert not hasattr(kind(), "training_")
