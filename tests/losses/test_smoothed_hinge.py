"""The smoothed hinge: its derivatives, and its distance from the hinge."""

import numpy as np
import pytest

from ipub.losses import Hinge, SmoothedHinge


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_smoothed_hinge_has_the_derivative_and_curvature_of_its_value(y):
    loss, h = SmoothedHinge(), 1e-6
    t = y * np.array([-4.0, 0.2, 0.499, 0.501, 0.6, 0.75, 0.999, 1.001, 3.0])
    slope = (loss.value(y, t + h) - loss.value(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.derivative(y, t), slope, atol=1e-8)
    second = (loss.derivative(y, t + h) - loss.derivative(y, t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.curvature(y, t), second, atol=1e-8)


@pytest.mark.parametrize("width", [1.0, 0.01])
def test_smoothed_hinge_is_below_the_hinge_by_half_a_width_at_most(width):
    t = np.linspace(-3.0, 3.0, 6001)
    difference = Hinge().value(1.0, t) - SmoothedHinge(width).value(1.0, t)
    assert difference.min() >= -1e-15
    assert difference.max() <= width / 2.0 + 1e-15
