"""predict_status: certain, open or unproved, as a user asks for it, whatever the uncertainty is about."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ipub.answers.status as status_module
from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IpubError, certify
from ipub.answers.attained import Attained
from ipub.answers.status import prediction_status
from ipub.app.files.modelfile import load, save
from ipub.certificates import RowSumBounds
from ipub.training import Training

UNCERTAINTIES = {
    "budget": Budget(cells=2),
    "wrong cells": Budget(cells=1, wrong_cells=1, precision=0.3),
    "draws": Draws(n_draws=4, random_state=0),
    "draws with cells": Draws(n_draws=3, random_state=0, cells=1),
}
T = np.random.default_rng(9).normal(size=(10, 3))
EASY = np.array([[2.0, -2.0, 0.0], [-2.0, 2.0, 0.0]])


def table(seed=3, n=40, holes=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] - 0.5 * X[:, 1] > 0.4 * rng.normal(size=n)).astype(int)
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def scores_of_fillings(clf, X, y, rows, count=8, weight=None):
    """Train on fillings, ends and points inside, and return the scores of rows: (count, m)."""
    rng = np.random.default_rng(7)
    low, high = clf.hole_ranges_.T
    i, j = np.nonzero(np.isnan(X))
    scores = []
    for number in range(count):
        place = rng.random(len(i)) if number % 3 == 0 else rng.integers(0, 2, size=len(i)).astype(float)
        if number >= count // 2:  # all that lift, or all that lower, the scores of the first class
            side = (y[i] == 1) ^ (number % 2 == 0) ^ (clf.coef_[0][j] < 0.0)
            place = np.where(rng.random(len(i)) < 0.1, place, side)
        filled = X.copy()
        filled[i, j] = np.clip(low[j] + place * (high[j] - low[j]), low[j], high[j])
        model = BoundedClassifier(**{**clf.get_params(), "certificate": None, "tol": 1e-9})
        scores.append(model.fit(filled, y, sample_weight=weight).decision_function(rows))
    return np.array(scores)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "parameters",
    [
        {"alpha": 0.03},
        {"alpha": 0.03, "certificate": "pointwise"},
        {"alpha": 0.1, "tol": 0.3},
        {"alpha": 1.0, "loss": "squared_hinge", "fit_intercept": False},
        {"alpha": 1.0, "loss": "smoothed_hinge", "class_weight": "balanced"},
        {"alpha": 0.1, "l1_ratio": 0.3},
        {"alpha": 1.0, "loss": "hinge"},
        {"alpha": 0.3, "loss": "hinge", "certificate": "pointwise"},
        {"alpha": 0.05, "loss": "hinge", "l1_ratio": 0.2, "tol": 0.1},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_no_filling_contradicts_a_status(parameters):
    X, y = table()
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0) if "l1_ratio" in parameters else None
    clf = BoundedClassifier(**parameters, effort=0.2).fit(X, y, sample_weight=weight)
    rows = np.vstack([T[:4], 0.05 * T[:1], 2.0 * EASY[:1]])
    status = clf.predict_status(rows)
    assert set(status) <= {"certain", "open", "unproved"}
    assert "certain" in status
    scores = scores_of_fillings(clf, X, y, rows, weight=weight)
    is_certain = status == "certain"
    assert ((scores[:, is_certain] > 0.0).all(axis=0) | (scores[:, is_certain] < 0.0).all(axis=0)).all()
    assert (status[clf.predict_set(rows).sum(axis=1) == 1] == "certain").all()
    attained = clf.attained_bounds(rows)
    is_open = status == "open"
    assert (attained[is_open, 0] < 0.0).all()
    assert (attained[is_open, 1] > 0.0).all()


def test_ruling_out_0_proves_more_than_bounds_do():
    """Rows that bounds leave uncertain by little, at both ends of the doubt."""
    X, y = table()
    clf = BoundedClassifier(alpha=0.03).fit(X, y)
    assert clf.certificate_.part(RowSumBounds).path is not None
    rows = EASY[:1] + np.linspace(0.3, 0.7, 1000)[:, None] * (EASY[1:] - EASY[:1])
    left = np.flatnonzero(clf.predict_set(rows).sum(axis=1) == 2)
    rows = rows[np.concatenate([left[:3], left[-3:]])]
    certain = clf.predict_status(rows) == "certain"
    assert certain.any()
    scores = scores_of_fillings(clf, X, y, rows)
    assert (np.sign(scores[:, certain]) == np.sign(clf.decision_function(rows[certain]))).all()


def test_with_the_hinge_ruling_out_0_proves_more_than_bounds_do(monkeypatch):
    """Over ranges of completions alone, as there is no path."""
    X, y = table(n=60, holes=0.05)
    clf = BoundedClassifier(alpha=0.1, loss="hinge", fit_intercept=False).fit(X, y)
    part = clf.certificate_.part(RowSumBounds)
    assert part.path is None
    assert part.searched is part.ranges
    rows = EASY[:1] + np.linspace(0.3, 0.7, 1000)[:, None] * (EASY[1:] - EASY[:1]) + 0.2 * T[:1]
    left = np.flatnonzero(clf.predict_set(rows).sum(axis=1) == 2)
    rows = rows[np.concatenate([left[:3], left[-3:]])]
    certain = clf.predict_status(rows) == "certain"
    assert certain.any()
    scores = scores_of_fillings(clf, X, y, rows)
    assert (np.sign(scores[:, certain]) == np.sign(clf.decision_function(rows[certain]))).all()


@pytest.fixture
def fitted():
    return BoundedClassifier(alpha=0.03).fit(*table())


def plant_bounds(monkeypatch, low, high, attained=None):
    """Let bounds, and what is attained, be the same for all rows."""

    def same_for_all(_, rows, *, effort=1.0, retrains=True, verbose=0):
        return np.tile([low, high], (rows.shape[0], 1)).astype(float)

    def attained_by_all(training, rows, *, until_two_sides=False, verbose=0):
        ends = attained or (low, high)
        return Attained(same_for_all(training, rows, verbose=verbose) * 0.0 + ends, [], np.zeros((rows.shape[0], 2)))

    monkeypatch.setattr(Training, "score_bounds", same_for_all)
    monkeypatch.setattr(status_module, "search_fillings", attained_by_all)
    monkeypatch.setattr(status_module, "_is_flipped", lambda _training, rows, _verbose: np.zeros(rows.shape[0], bool))


@pytest.mark.parametrize(
    ("attained", "status"),
    [((-1.0, 1.0), "open"), ((0.1, 1.0), "unproved"), ((-1.0, -0.1), "unproved"), ((-1e-9, 1.0), "unproved")],
)
def test_open_takes_two_fillings_that_clearly_give_two_classes(fitted, monkeypatch, attained, status):
    plant_bounds(monkeypatch, -2.0, 2.0, attained)
    monkeypatch.setattr(status_module, "is_on_one_side", lambda *_: False)
    assert fitted.predict_status(T).tolist() == [status] * len(T)


def test_only_rows_without_holes_are_certain_by_ruling_out_0(fitted, monkeypatch):
    plant_bounds(monkeypatch, -2.0, 2.0, (0.1, 1.0))
    seen = []

    def recorded(ranges, t, score, effort):
        seen.append((t, score, effort))
        assert ranges is fitted.certificate_.part(RowSumBounds).ranges
        return True

    monkeypatch.setattr(status_module, "is_on_one_side", recorded)
    rows = T[:3].copy()
    rows[1, 0] = np.nan
    assert fitted.predict_status(rows).tolist() == ["certain", "unproved", "certain"]
    assert [(t.tolist(), score, effort) for t, score, effort in seen] == [
        ([*T[0], 1.0], 0.0, fitted.effort),
        ([*T[2], 1.0], 0.0, fitted.effort),
    ]


def test_only_rows_without_missing_categories_are_certain_by_ruling_out_0(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = table()
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": rng.choice(["p", "q"], size=len(X))})
    frame.loc[:2, "kind"] = None
    clf = BoundedClassifier(alpha=0.03).fit(frame, y)
    assert clf.certificate_.part(RowSumBounds).path is not None
    plant_bounds(monkeypatch, -2.0, 2.0, (0.1, 1.0))
    searched = clf.certificate_.part(RowSumBounds).searched
    monkeypatch.setattr(status_module, "is_on_one_side", lambda ranges, *_: ranges is searched)
    rows = pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, 1.0], "kind": ["p", None]})
    assert clf.predict_status(rows).tolist() == ["certain", "unproved"]


def test_ranges_without_a_path_prove_no_side(fitted, monkeypatch):
    part = fitted.certificate_.part(RowSumBounds)
    object.__setattr__(part, "path", None)
    plant_bounds(monkeypatch, -2.0, 2.0, (0.1, 1.0))
    monkeypatch.setattr(status_module, "is_on_one_side", lambda *_: pytest.fail("a side was looked for"))
    assert set(fitted.predict_status(T)) == {"unproved"}


@pytest.mark.parametrize("uncertainty", UNCERTAINTIES.values(), ids=UNCERTAINTIES)
def test_every_uncertainty_has_its_status(uncertainty):
    X, y = table()
    clf = BoundedClassifier(alpha=0.03, uncertainty=uncertainty, effort=0.2).fit(X, y)
    rows = np.vstack([T[:4], EASY])
    status = clf.predict_status(rows)
    assert set(status) <= {"certain", "open", "unproved"}
    assert (status[clf.predict_set(rows).sum(axis=1) == 1] == "certain").all()
    attained = clf.attained_bounds(rows)
    is_flipped = (attained[:, 0] < 0.0) & (attained[:, 1] > 0.0)
    assert (is_flipped[status == "open"]).all()
    assert not is_flipped[status == "certain"].any()


def test_draws_are_certain_by_the_range_over_all_draws_alone(monkeypatch):
    """The certificate of one draw says nothing of the others."""
    X, y = table()
    clf = BoundedClassifier(alpha=0.03, uncertainty=Draws(n_draws=3, random_state=0, radius=0.5)).fit(X, y)
    monkeypatch.setattr(status_module, "is_on_one_side", lambda *_: pytest.fail("a single draw was looked at"))
    status = clf.predict_status(T)
    assert ((status == "certain") == (clf.predict_set(T).sum(axis=1) == 1)).all()


@pytest.mark.parametrize(("tol", "status"), [(1e-8, "open"), (0.5, "unproved")])
def test_draws_that_are_badly_trained_show_no_flip(tol, status, monkeypatch):
    clf = BoundedClassifier(alpha=0.03, tol=tol, uncertainty=Draws(n_draws=3, random_state=0)).fit(*table())
    plant_bounds(monkeypatch, -2.0, 2.0)
    assert set(clf.predict_status(T)) == {status}


def three_classes():
    rng = np.random.default_rng(0)
    X, _ = table()
    y = rng.integers(0, 3, size=len(X))
    return X, np.where(np.nan_to_num(X[:, 0]) > 0.5, 2, y)


def test_rows_of_more_than_two_classes_are_open_if_a_filling_changes_the_class():
    X, y = three_classes()
    clf = BoundedClassifier(alpha=0.05).fit(X, y)
    rows = np.vstack([T, 3.0 * T])
    status = clf.predict_status(rows)
    assert ((status == "certain") == (clf.predict_set(rows).sum(axis=1) == 1)).all()
    assert set(status) == {"certain", "open", "unproved"}
    for row in rows[status == "open"]:
        filling = clf.explain(row).filling
        assert clf.fit(filling, y).predict(row[None]) != clf.fit(X, y).predict(row[None])


def with_categories():
    X, y = table(n=60)
    kind = np.random.default_rng(1).choice(["p", "q", "r"], size=len(X)).astype(object)
    kind[:4] = None
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}).assign(kind=kind), y


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("numbers", {"alpha": 0.03}),
        ("numbers", {"alpha": 0.03, "uncertainty": Budget(cells=2)}),
        ("numbers", {"alpha": 0.03, "uncertainty": Budget(cells=1, wrong_cells=1, precision=0.3)}),
        ("numbers", {"alpha": 0.1, "loss": "hinge"}),
        ("categories", {"alpha": 0.03}),
        ("three classes", {"alpha": 0.05}),
    ],
    ids=str,
)
def test_the_status_of_a_row_is_its_own_wherever_it_is_shown(kind, parameters):
    X, y = {"numbers": table, "categories": with_categories, "three classes": three_classes}[kind]()
    clf = BoundedClassifier(**parameters, effort=0.2).fit(X, y)
    rows = np.vstack([T[:6], EASY, EASY[:1] + np.linspace(0.3, 0.7, 6)[:, None] * (EASY[1:] - EASY[:1])])
    rows[1, 0] = np.nan
    if kind == "categories":
        rows = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(kind=["p", "q", None, "r", "p", "q", "r"] * 2)
    if kind == "categories" or "loss" in parameters:  # rows of these take a second each
        rows = rows[1::3]
    status = clf.predict_status(rows)
    assert len(set(status)) > 1
    one_by_one = [rows[k : k + 1] for k in range(len(rows))]
    assert [clf.predict_status(row)[0] for row in one_by_one] == status.tolist()
    assert clf.predict_status(rows[::-1])[::-1].tolist() == status.tolist()
    points = clf.tipping_points(rows)
    assert points.states.tolist() == status.tolist()
    for k, row in enumerate(one_by_one):
        why = clf.explain(row)
        assert why.status == status[k]
        assert tuple(why.tipping) == (points.at_least[k], points.at_most[k])
    report = clf.report(rows).summary
    assert report["predictions"]["status"] == status.tolist()
    allowed = clf.uncertainty.cells if clf.uncertainty != "worst" else np.inf
    assert (points.at_least[status == "certain"] > allowed).all() if np.isfinite(allowed) else True
    assert np.isinf(points.at_least[status == "certain"]).all() or np.isfinite(allowed)
    assert (points.at_least[status == "open"] <= allowed).all()


def test_frames_and_pipelines():
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    labels = np.where(y == 1, "yes", "no")
    clf = BoundedClassifier(alpha=0.03, scale="standard").fit(frame, labels)
    rows = pd.DataFrame(np.vstack([2.0 * EASY, 0.01 * T]), columns=["a", "b", "c"], index=np.arange(12) + 5)
    status = clf.predict_status(rows)
    assert status.shape == (12,)
    assert status[:2].tolist() == ["certain", "certain"]
    filled = frame.fillna(frame.mean())
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=1.0)).fit(filled, labels)
    bounded = certify(pipeline, frame, labels)
    assert bounded.predict_status(rows)[:2].tolist() == ["certain", "certain"]


def test_certificate_none_says_what_to_set():
    clf = BoundedClassifier(certificate=None).fit(*table())
    with pytest.raises(IpubError, match="certificate='tight'"):
        clf.predict_status(T)


def test_a_regression_has_no_status():
    X, y = table()
    regressor = BoundedRegressor(alpha=0.1).fit(X, y + 0.5)
    assert not hasattr(regressor, "predict_status")
    rows = regressor.training_.table.uncertain_rows(T, False)
    with pytest.raises(IpubError, match="predict_bounds"):
        prediction_status(regressor.training_, rows, 1.0)


@pytest.mark.parametrize("how", ["saved", "saved without rows", "pickled", "copied"])
def test_a_model_without_its_training_table_says_what_its_bounds_say(fitted, tmp_path, how):
    if how.startswith("saved"):
        save(fitted, tmp_path / "m.ipub", rows=how == "saved")
        loaded = load(tmp_path / "m.ipub")
    else:
        loaded = pickle.loads(pickle.dumps(fitted)) if how == "pickled" else copy.deepcopy(fitted)
    rows = np.vstack([T[:3], EASY[:1]])
    status = loaded.predict_status(rows)
    certain = loaded.predict_set(rows).sum(axis=1) == 1
    assert (status[certain] == "certain").all()
    assert "open" not in status or loaded.training_.models
    assert ((status == "certain") <= (fitted.predict_status(rows) == "certain")).all()


def undecided(clf):
    """Return a row between two easy ones whose score is about 0."""
    first, last = clf.decision_function(EASY)
    return EASY[:1] + first / (first - last) * (EASY[1:] - EASY[:1])


def test_what_bounds_and_fillings_settle_is_not_searched_for(monkeypatch):
    X, y = table()
    clf = BoundedClassifier(alpha=0.03, certificate="pointwise").fit(X, y)
    rows = np.vstack([2.0 * EASY, undecided(clf), undecided(clf)])
    plain = Training.score_bounds

    def recorded(self, rows, *, retrains=True, **options):
        assert not retrains
        return plain(self, rows, retrains=retrains, **options)

    monkeypatch.setattr(Training, "score_bounds", recorded)
    monkeypatch.setattr(status_module, "is_on_one_side", lambda *_: pytest.fail("a side was looked for"))
    assert clf.predict_status(rows).tolist() == ["certain", "certain", "open", "open"]


def test_pointwise_bounds_settle_what_is_left():
    X, y = table()
    clf = BoundedClassifier(alpha=0.03, certificate="pointwise", effort=0.02).fit(X, y)
    rows = EASY[:1] + np.linspace(0.4, 0.6, 12)[:, None] * (EASY[1:] - EASY[:1])
    rows[::2, 2] = np.nan
    status = clf.predict_status(rows)
    assert (status[clf.predict_set(rows).sum(axis=1) == 1] == "certain").all()
