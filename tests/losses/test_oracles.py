"""The exact oracles: one for each loss, and an error that says where to add a missing one."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ipub.losses import LOSSES, Hinge, Squared
from ipub.losses.penalties import ElasticNet
from support.attacks import retrain
from support.cases import Case, intervals
from support.enclosures import wrong_conjugates, wrong_residuals, wrong_slopes, wrong_values
from support.oracles import losses as oracle_module
from support.oracles.exact import exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.losses import ORACLES, oracle_of
from support.oracles.rationals import as_float

X, Y = np.array([[1.0, 0.5], [-0.5, 2.0], [0.25, -1.0]]), np.array([1.0, -1.0, 1.0])
CASE = Case(intervals(X, np.full((3, 2), np.nan)), Y, None, Squared(), ElasticNet(0.5), X)


@dataclass(frozen=True)
class MadeUpSmooth(Squared):
    """A loss that no oracle knows."""

    name = "made_up"


@dataclass(frozen=True)
class MadeUpJump(Hinge):
    """Another, whose derivative jumps."""

    name = "made_up"


USES = {
    "oracle": oracle_of,
    "minimiser": lambda loss: exact_model(X, Y, None, loss, 0.5, 0.0),
    "minimiser with intercept": lambda loss: exact_intercept_model(X, Y, None, loss, 0.5, 0.0),
    "retraining": lambda loss: retrain(replace(CASE, loss=loss), X),
    "values": lambda loss: list(wrong_values(loss)),
    "conjugates": lambda loss: list(wrong_conjugates(loss)),
    "residuals": lambda loss: list(wrong_residuals(loss)),
    "slopes": lambda loss: list(wrong_slopes(loss)),
}


def test_every_loss_has_an_exact_oracle():
    assert set(ORACLES) == set(LOSSES)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [MadeUpSmooth, MadeUpJump])
def test_a_loss_without_an_oracle_is_an_error_that_names_the_file_to_edit(kind, use):
    with pytest.raises(
        NotImplementedError, match=r"^no exact oracle for made_up: add it to tests/\S*oracles/losses\.py$"
    ):
        USES[use](kind())


def test_the_file_that_the_error_names_exists():
    with pytest.raises(NotImplementedError) as caught:
        oracle_of(MadeUpSmooth())
    place = str(caught.value).rsplit(" ", 1)[1]
    assert Path(oracle_module.__file__).as_posix().endswith(place)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=str)
def test_an_oracle_agrees_with_the_floats_of_the_loss(loss):
    oracle = oracle_of(loss)
    for y in (-1.0, 1.0):
        for t in (-3.0, -1.0, 0.25, 1.0, 2.0):
            assert as_float(oracle.value(y, t)) == pytest.approx(float(loss.value(y, t)), rel=1e-14)
            slopes = [as_float(slope) for slope in oracle.slopes(y, t)]
            assert min(slopes) - 1e-14 <= loss.derivative(y, t) <= max(slopes) + 1e-14
        low, high = np.clip(oracle.domain, -2.0, 2.0)
        for a in np.linspace(low, high, 5) * (y if loss.task == "classification" else 1.0):
            assert as_float(oracle.conjugate(y, a)) == pytest.approx(float(loss.conjugate(y, a)), rel=1e-14)
