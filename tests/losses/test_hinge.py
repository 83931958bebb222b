"""The hinge: its kink, and dual points from the smoothed hinge."""

import numpy as np
import pytest

from ipub.losses import Hinge


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivative_at_the_kink_is_a_subgradient_and_the_range_holds_them_all(y):
    loss, kink = Hinge(), np.array(y)
    low, high = loss.derivative_range(np.array(y), kink, kink)
    one_sided = sorted([-y, 0.0])
    assert low <= one_sided[0]
    assert high >= one_sided[1]
    assert one_sided[0] <= loss.derivative(y, kink) <= one_sided[1]


@pytest.mark.parametrize("width", [1.0, 0.1, 1e-3, 1e-9])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_smoothed_hinge_gives_a_dual_point_of_the_hinge_with_a_residual_of_a_quarter_width(width, y):
    hinge = Hinge()
    smooth = hinge.smoothed(width)
    margins = np.concatenate([np.linspace(-3.0, 3.0, 601), 1.0 - width * np.linspace(-0.5, 1.5, 201)])
    t = y * margins
    a = -smooth.derivative(y, t)
    assert np.isfinite(hinge.conjugate(y, a)).all()
    assert hinge.residual_upper(y, t, a).max() <= width / 4.0 * (1.0 + 1e-9) + 1e-15
