"""The registry: what losses declare, and losses made from the parameters of an estimator."""

import dataclasses
import inspect

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.losses import LOSSES, Huber, SmoothedHinge, loss_names, loss_parameters, make_loss

ESTIMATORS = {"classification": BoundedClassifier, "regression": BoundedRegressor}
PARAMETERS = {"hinge_width": 0.3, "huber_delta": 0.7, "alpha": 0.1}


def test_only_the_hinge_needs_smoothing():
    assert [name for name, loss in LOSSES.items() if not loss.is_smooth] == ["hinge"]
    for loss in LOSSES.values():
        assert (loss.smoothed(0.1) is loss) == loss.is_smooth


def test_two_losses_have_a_bounded_third_derivative():
    found = [name for name, loss in LOSSES.items() if loss.has_bounded_third_derivative]
    assert found == ["squared_error", "log_loss"]


def test_only_the_logistic_loss_has_probabilities():
    assert [loss.name for loss in LOSSES.values() if loss.has_probability] == ["log_loss"]


@pytest.mark.parametrize("kind", [SmoothedHinge, Huber])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, 1e-101, 1e101])
def test_a_length_that_could_overflow_is_refused(kind, value):
    with pytest.raises(ValueError, match=r"must be between 1e-100 and 1e\+100"):
        kind(value)


@pytest.mark.parametrize("kind", [SmoothedHinge, Huber])
def test_a_length_of_lower_precision_is_taken_at_its_value(kind):
    loss = kind(np.float32(0.1))
    assert loss == kind(float(np.float32(0.1)))
    assert loss.value(np.ones(2), np.zeros(2)).dtype == np.float64


def test_every_loss_is_registered_under_its_name():
    assert {name: loss.name for name, loss in LOSSES.items()} == {name: name for name in LOSSES}
    assert sorted([*loss_names("classification"), *loss_names("regression")]) == sorted(LOSSES)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=str)
def test_a_loss_declares_exactly_the_parameters_that_it_has(loss):
    declared = [parameter.field for parameter in loss.parameters.values()]
    assert declared == [field.name for field in dataclasses.fields(loss)]


def test_parameters_of_losses_belong_to_the_task_of_their_loss():
    assert list(loss_parameters("classification")) == ["hinge_width"]
    assert list(loss_parameters("regression")) == ["huber_delta"]


@pytest.mark.parametrize("loss", LOSSES.values(), ids=str)
def test_an_estimator_has_each_declared_parameter_with_the_default_of_the_loss(loss):
    signature = inspect.signature(ESTIMATORS[loss.task]).parameters
    for name, parameter in loss.parameters.items():
        assert signature[name].default == getattr(loss, parameter.field)


def test_a_loss_takes_its_own_parameters_and_ignores_the_others():
    made = {name: make_loss(name, PARAMETERS) for name in LOSSES}
    changed = {"smoothed_hinge": SmoothedHinge(0.3), "huber": Huber(0.7)}
    assert made == {**LOSSES, **changed}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_without_given_parameters_is_that_of_the_registry(name):
    assert make_loss(name, {"alpha": 0.1}) is LOSSES[name]


@pytest.mark.parametrize(("name", "key"), [("smoothed_hinge", "hinge_width"), ("huber", "huber_delta")])
def test_a_loss_is_not_made_from_an_invalid_parameter(name, key):
    with pytest.raises(ValueError, match="must be between"):
        make_loss(name, {key: 0.0})


def test_an_unknown_loss_is_not_made():
    with pytest.raises(KeyError):
        make_loss("made_up", {})
