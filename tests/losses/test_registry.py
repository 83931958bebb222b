"""The registry: what losses declare, and losses made from the parameters of an estimator."""

import dataclasses
import inspect

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from ipub.losses import LOSSES, Huber, SmoothedHinge, loss_names, loss_parameters, make_loss
from support.oracles.losses import SmoothOracle, oracle_of

ESTIMATORS = {"classification": BoundedClassifier, "regression": BoundedRegressor}
each_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=str)


@each_loss
def test_a_loss_needs_smoothing_where_its_derivative_jumps(loss):
    assert loss.is_smooth == isinstance(oracle_of(loss), SmoothOracle)
    assert (loss.smoothed(0.1) is loss) == loss.is_smooth


@each_loss
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_a_third_derivative_is_bounded_only_where_there_is_no_kink(loss, y):
    assert not (loss.has_bounded_third_derivative and oracle_of(loss).kinks(y))


@each_loss
def test_a_link_that_is_a_probability_lies_between_0_and_1(loss):
    t = np.array([-3.0, -0.5, 0.25, 2.5])
    between = (loss.link(t) > 0.0) & (loss.link(t) < 1.0)
    assert loss.has_probability == (loss.task == "classification" and between.all())


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


@each_loss
def test_a_loss_declares_exactly_the_parameters_that_it_has(loss):
    declared = [parameter.field for parameter in loss.parameters.values()]
    assert declared == [field.name for field in dataclasses.fields(loss)]


@each_loss
def test_parameters_of_a_loss_belong_to_its_task_alone(loss):
    assert loss.parameters.items() <= loss_parameters(loss.task).items()
    (other,) = {*ESTIMATORS} - {loss.task}
    assert not {*loss.parameters} & {*loss_parameters(other)}


@each_loss
def test_an_estimator_has_each_declared_parameter_with_the_default_of_the_loss(loss):
    signature = inspect.signature(ESTIMATORS[loss.task]).parameters
    for name, parameter in loss.parameters.items():
        assert signature[name].default == getattr(loss, parameter.field)


@each_loss
def test_a_loss_takes_its_own_parameters_and_ignores_the_others(loss):
    keys = [key for each in LOSSES.values() for key in each.parameters]
    given = {key: 0.3 + number for number, key in enumerate(keys)}
    own = {each.field: given[key] for key, each in loss.parameters.items()}
    assert make_loss(loss.name, {**given, "alpha": 0.1}) == dataclasses.replace(loss, **own)


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
