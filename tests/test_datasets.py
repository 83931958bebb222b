import numpy as np
import pyarrow as pa

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses


def test_the_table_has_the_published_counts():
    X, y = load_mammographic_masses()
    assert X.shape == (961, 4)
    assert np.isnan(X).sum(axis=0).tolist() == [5, 31, 48, 76]
    assert np.isnan(X).any(axis=1).sum() == 130
    assert {str(k): int(n) for k, n in zip(*np.unique(y, return_counts=True), strict=True)} == {
        "benign": 516,
        "malignant": 445,
    }


def test_codes_lie_in_their_documented_ranges():
    X, _ = load_mammographic_masses()
    assert np.nanmin(X, axis=0).tolist() == [18, 1, 1, 1]
    assert np.nanmax(X, axis=0).tolist() == [96, 4, 5, 4]


def test_the_frame_holds_the_same_values_with_names():
    X, y = load_mammographic_masses()
    frame, labels = load_mammographic_masses(as_frame=True)
    assert isinstance(frame, pa.Table)
    np.testing.assert_array_equal(np.column_stack([column.to_numpy() for column in frame.columns]), X)
    assert (labels == y).all()
    fitted = BoundedClassifier(certificate="sphere").fit(frame, labels)
    assert fitted.feature_names_in_.tolist() == ["age", "shape", "margin", "density"]
