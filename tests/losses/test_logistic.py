"""The logistic loss: large scores, probabilities."""

import numpy as np
import pytest
from scipy.special import expit

from ipub.losses import Logistic


@pytest.mark.parametrize("t", [-1e6, -800.0, 800.0, 1e6])
def test_logistic_neither_overflows_nor_vanishes_at_large_scores(t):
    loss = Logistic()
    assert loss.value(1.0, t) == max(0.0, -t)
    assert loss.derivative(1.0, t) == (0.0 if t > 0 else -1.0)
    assert loss.curvature(1.0, t) == 0.0


def test_link_of_the_logistic_loss_is_the_sigmoid_and_its_range_encloses_it():
    t = np.concatenate([np.linspace(-50.0, 50.0, 1001), [-1e4, -745.0, 745.0, 1e4]])
    loss = Logistic()
    np.testing.assert_array_equal(loss.link(t), expit(t))
    low, high = loss.link_range(t, t)
    assert (low <= expit(t)).all()
    assert (expit(t) <= high).all()
    assert (low >= 0.0).all()
    assert (high <= 1.0).all()
    np.testing.assert_allclose(high - low, 0.0, atol=1e-14)


def test_link_range_of_the_logistic_loss_without_knowledge_is_zero_to_one():
    low, high = Logistic().link_range(np.array([-np.inf]), np.array([np.inf]))
    assert (low[0], high[0]) == (0.0, 1.0)
