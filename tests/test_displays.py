"""Displays: what they compute is kept, and each status has a shape and a colour of its own."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ipub import BoundedClassifier, BoundedRegressor, IpubError
from ipub.answers.tipping_curve import status_shares
from ipub.plots import (
    BoundsDisplay,
    ExplanationDisplay,
    InfluenceDisplay,
    PathDisplay,
    ShiftGridDisplay,
    StatusDisplay,
    TippingDisplay,
)
from ipub.plots.style import MARKERS, STATES


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=120)
    X[rng.random(X.shape) < 0.05] = np.nan
    rows = rng.normal(size=(30, 3))
    return X, y, rows


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("kind", ["rows", "quadrants"])
def test_bounds_are_those_of_the_estimator(fitted, kind):
    X, y, rows = fitted
    clf = BoundedClassifier().fit(X, y > 0.0)
    display = BoundsDisplay.from_estimator(clf, rows, kind=kind)
    np.testing.assert_array_equal(display.bounds, clf.predict_proba_bounds(rows))
    assert display.threshold == 0.5
    assert display.plot(kind=kind).ax_ is not None
    reg = BoundedRegressor().fit(X, y)
    np.testing.assert_array_equal(BoundsDisplay.from_estimator(reg, rows, kind=kind).bounds, reg.predict_bounds(rows))


@pytest.mark.parametrize("kind", ["rows", "quadrants"])
def test_three_states_have_three_colours_and_marks_and_are_counted(kind):
    status = ["certain", "open", "unproved", "certain"]
    bounds, prediction = [[0.1, 0.2], [0.4, 0.7], [0.4, 0.6], [0.45, 0.52]], [0.15, 0.55, 0.52, 0.48]
    display = BoundsDisplay.from_predictions(bounds, prediction, threshold=0.5, status=status, kind=kind)
    counted = [words for words in legend(display) if "row" in words]
    assert [(words.split()[0].strip(":"), words[-8:].strip(" (")) for words in counted] == [
        ("certain", "2 rows)"), ("open", "1 row)"), ("unproved", "1 row)"),
    ]  # fmt: skip
    at = {tuple(line.get_ydata()): line.get_marker() for line in display.ax_.get_lines() if len(line.get_ydata())}
    assert (at[(0.15, 0.48)], at[(0.55,)], at[(0.52,)]) == tuple(MARKERS[state] for state in STATES)
    colours = {to_hex(bars.get_color()[0]).upper() for bars in display.ax_.collections}
    assert colours == {*STATES.values()}


def test_a_status_that_is_none_is_refused():
    with pytest.raises(IpubError, match="predict_status"):
        BoundsDisplay.from_predictions([[0.1, 0.2]], [0.15], threshold=0.5, status=["sure"])
    with pytest.raises(IpubError, match="each of the 1 rows"):
        BoundsDisplay.from_predictions([[0.1, 0.2]], [0.15], threshold=0.5, status=["open", "open"])


def test_few_marks_take_a_low_figure_and_its_legend_marks_do_not_overlap():
    few, many = (StatusDisplay.from_predictions(["open"] * n) for n in (10, 300))
    assert few.figure_.get_figheight() < 0.6 * many.figure_.get_figheight()
    few.figure_.draw_without_rendering()
    heights = [handle.get_sizes()[0] ** 0.5 for handle in few.ax_.get_legend().legend_handles]
    assert max(heights) < 10.0


def test_losses_without_probabilities_show_scores(fitted):
    X, y, rows = fitted
    assert BoundsDisplay.from_estimator(BoundedClassifier("squared_hinge").fit(X, y > 0.0), rows).threshold == 0.0


def test_more_than_two_classes_and_unknown_kinds_are_refused(fitted):
    X, y, rows = fitted
    with pytest.raises(IpubError, match="two classes"):
        BoundsDisplay.from_estimator(BoundedClassifier().fit(X, np.digitize(y, [-0.5, 0.5])), rows)
    with pytest.raises(IpubError, match="'quadrants'"):
        BoundsDisplay.from_predictions([[0.1, 0.3]], [0.2], kind="pie")


def test_every_status_has_a_colour_and_a_shape():
    assert len({*STATES.values()}) == len({*MARKERS.values()}) == 3
    display = StatusDisplay.from_predictions(["certain"] * 7 + ["open"] * 2 + ["unproved"])
    assert display.counts == {"certain": 7, "open": 2, "unproved": 1}
    assert [len(marks.get_offsets()) for marks in display.ax_.collections] == [7, 2, 1]
    assert [words.split()[0] for words in legend(display)] == ["7", "2", "1"]


def test_of_many_rows_a_mark_stands_for_several_and_says_so():
    display = StatusDisplay.from_predictions(np.repeat(["certain", "open"], [3000, 1]))
    assert sum(len(marks.get_offsets()) for marks in display.ax_.collections) <= 402
    assert f"each mark stands for {display.rows_per_mark}" in display.ax_.get_title(loc="left")


def test_the_status_of_an_estimator_is_drawn(fitted):
    X, y, rows = fitted
    clf = BoundedClassifier().fit(X, y > 0.0)
    status = clf.predict_status(rows)
    assert StatusDisplay.from_estimator(clf, rows).counts["certain"] == (status == "certain").sum()
    with pytest.raises(IpubError, match="predict_status"):
        StatusDisplay.from_predictions(["sure"])


def test_shares_of_a_tipping_curve_are_counts():
    numbers, shares = status_shares([1, 3, np.inf, 3], [2, np.inf, np.inf, 3], 5)
    assert numbers.tolist() == [0, 1, 2, 3, 5]
    assert (4 * shares["certain"]).tolist() == [4, 3, 3, 1, 1]
    assert (4 * shares["open"]).tolist() == [0, 0, 1, 2, 2]
    np.testing.assert_allclose(sum(shares.values()), 1.0)


def test_the_number_up_to_which_all_are_certain_is_marked():
    display = TippingDisplay.from_predictions([4, np.inf], [9, np.inf], n_missing=10)
    assert any("up to 3 of 10 (30.0%)" in words for words in legend(display))
    with pytest.raises(IpubError, match="nothing to draw"):
        TippingDisplay.from_predictions([1], [1], n_missing=0)


def test_what_is_proved_of_an_influence_stays_in_the_picture():
    display = InfluenceDisplay.from_predictions(["a", "b"], [0.4, 0.1], [0.3, 0.0], [0.5, np.inf])
    assert np.isfinite(display.ax_.get_xlim()).all()
    display.figure_.draw_without_rendering()
    with pytest.raises(IpubError, match="nothing to draw"):
        InfluenceDisplay.from_predictions([], [])


@pytest.mark.parametrize(
    ("by", "words"), [("cell", r"column \d of row \d+"), ("column", r"column \d"), ("row", r"row \d+")]
)
def test_the_axis_says_what_is_missing(fitted, by, words):
    X, y, rows = fitted
    display = InfluenceDisplay.from_estimator(BoundedRegressor(alpha=1.0).fit(X, y), rows[:3], by=by)
    assert all(re.fullmatch(words, name) for name in display.names), display.names


def test_the_picked_penalty_is_marked(fitted):
    X, y, _ = fitted
    display = PathDisplay.from_estimator(BoundedClassifier(alpha="1se").fit(X, y > 0.0))
    assert sum("(picked)" in words for words in legend(display)) == 1
    with pytest.raises(IpubError, match="1se"):
        PathDisplay.from_estimator(BoundedRegressor().fit(X, y))


def test_an_explanation_shows_bounds_parts_and_the_missing_values_that_matter(fitted):
    X, y, rows = fitted
    clf = BoundedClassifier().fit(X, y > 0.0)
    row = rows[0].copy()
    row[0] = np.nan
    why = clf.explain(row)
    display = why.plot()
    assert isinstance(display, ExplanationDisplay)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names[:3] == ["everything missing", "its own values alone", "training table alone"]
    assert len(names) == 9
    (bounds, *_) = display.ax_.collections[0].get_segments()
    np.testing.assert_array_equal(bounds[:, 0], why.bounds)
    reg = BoundedRegressor().fit(X, y)
    assert ExplanationDisplay.from_estimator(reg, rows[0], threshold=0.5).ax_.get_xlabel() == "prediction"


def test_tipping_points_of_an_estimator_are_drawn(fitted):
    X, y, rows = fitted
    clf = BoundedClassifier().fit(X, y > 0.0)
    display, points = TippingDisplay.from_estimator(clf, rows), clf.tipping_points(rows)
    np.testing.assert_array_equal(display.at_least, points.rows["at_least"])
    assert display.n_missing == points.n_missing == np.isnan(X).sum()


def test_a_grid_of_shifts_marks_what_is_safe_throughout(fitted):
    X, y, rows = fitted
    clf = BoundedClassifier(alpha=0.1).fit(X, y > 0.0)
    options = {"how": ["add", "multiply"]}
    display = ShiftGridDisplay.from_estimator(clf, rows[:5], [0, 1], [[-1.0, 0.0, 1.0], [0.5, 1.0]], **options)
    grid = clf.shift_grid(rows[:5], [0, 1], [[-1.0, 0.0, 1.0], [0.5, 1.0]], **options)
    np.testing.assert_array_equal(display.states, grid.states)
    np.testing.assert_array_equal(display.whole_cell, grid.whole_cell)
    assert display.filled_in_at == [1, 1]
    assert "multiplied by" in display.ax_.get_ylabel()
    assert "as filled in" in legend(display)
    one = ShiftGridDisplay.from_predictions(["safe", "tips", "unproved"], [[1, 2, 3]], ["age"])
    assert len(legend(one)) == 4
    with pytest.raises(IpubError, match="one for each combination"):
        ShiftGridDisplay.from_predictions(["safe"], [[1, 2]], ["age"])
    with pytest.raises(IpubError, match="'fine'"):
        ShiftGridDisplay.from_predictions(["fine"], [[1]], ["age"])
