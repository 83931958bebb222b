"""What pointwise bounds need of a fit is prepared once, and no call changes what another gives."""

from __future__ import annotations

import numpy as np
import pytest

from ipub import BoundedClassifier
from ipub.certificates.per_row.pointwise import PointwiseBounds
from support.planted import plant_function


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_bounds_do_not_depend_on_the_order_of_calls(loss, monkeypatch):
    rng = np.random.default_rng(4)
    X, X_test = rng.normal(size=(60, 3)), rng.normal(size=(4, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0.0, 1, -1)
    X[rng.random(X.shape) < 0.03] = np.nan
    made, honest = [], PointwiseBounds.prepared

    def counted(self, certificate, training):
        made.append(self.effort)
        return honest(self, certificate, training)

    plant_function(monkeypatch, PointwiseBounds, "prepared", counted)
    model = BoundedClassifier(loss, alpha=0.2, certificate="pointwise").fit(X, y)
    model.effort = 0.05
    first = model.decision_bounds(X_test)
    others = model.decision_bounds(X_test[2:])
    np.testing.assert_array_equal(model.decision_bounds(X_test), first)
    np.testing.assert_array_equal(model.decision_bounds(X_test[2:]), others)
    assert made == [0.05]
