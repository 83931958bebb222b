"""What a notebook shows of estimators and certificates."""

import numpy as np
import pandas as pd
from sklearn import config_context

from ipub import BoundedClassifier, BoundedRegressor

NAME = "<script>alert(1)</script>"


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({NAME: rng.normal(size=60), "site": rng.choice(["a", "b"], 60), "whole": rng.normal(size=60)})
    y = np.where(X[NAME] > 0.0, "yes", "no")
    X.loc[:4, NAME], X.loc[7:8, "site"] = None, None
    return X, y


def test_a_fitted_estimator_shows_what_is_missing_assumed_and_promised():
    X, y = table()
    clf = BoundedClassifier(alpha=0.3)
    assert "ipub-fitted" not in clf._repr_html_()
    shown = clf.fit(X, y)._repr_html_()
    assert "alpha 0.3; trained on 60 rows and 3 columns" in shown
    # Newer versions of scikit-learn look at every attribute, and so ask for the certificate.
    is_done = clf.training_.certified.is_done
    assert (clf.certificate_.promise if is_done else "proved when they are first asked for") in shown
    low, high = clf.hole_ranges_[0]
    assert f"<td>&lt;script&gt;alert(1)&lt;/script&gt;</td><td>5</td><td>{low:.6g} to {high:.6g}</td>" in shown
    assert "<td>site</td><td>2</td><td>any of its categories</td>" in shown
    assert "whole" not in shown.split("ipub-fitted")[1]
    assert clf.certificate_.promise in clf._repr_html_()
    assert clf._repr_mimebundle_()["text/html"].count("ipub-fitted") == 1
    with config_context(display="text"):
        assert not hasattr(clf, "_repr_html_")


def test_estimators_without_rows_or_bounds_say_so():
    X, y = table()
    shown = BoundedClassifier(certificate=None).fit(X, y)._repr_html_()
    assert "without a certificate" in shown
    import pickle

    clf = pickle.loads(pickle.dumps(BoundedClassifier().fit(X, y)))
    assert "3 columns, without its training table" in clf._repr_html_()
    reg = BoundedRegressor().fit(X[["whole"]].to_numpy(), np.arange(60.0))
    assert "60 rows and 1 columns" not in reg._repr_html_()
    reg.set_params(alpha=2.0)  # no longer that of the fit
    assert "ipub-fitted" not in reg._repr_html_()


def test_a_certificate_shows_its_promise_first():
    X, y = table()
    shown = BoundedClassifier("hinge", certificate="slope").fit(X, y).certificate_
    html = shown._repr_html_()
    assert html.startswith(f"<p><b>{shown.promise}</b></p>")
    assert shown.note in html
