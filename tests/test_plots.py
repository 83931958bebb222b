import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from ipub import BoundedClassifier, BoundedRegressor, penalty_path
from ipub.plots import CERTAIN, UNCERTAIN, plot_bounds, plot_penalty_path

BOUNDS = np.array([[0.4, 0.7], [0.1, 0.3], [0.6, 0.9], [0.5, 0.6]])
CENTER = np.array([0.55, 0.2, 0.7, 0.52])


def words(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_certain_and_open_rows_are_counted_and_coloured_apart(tmp_path):
    ax = plot_bounds(BOUNDS, CENTER, threshold=0.5, quantity="probability of rain", title="four rows")
    assert any(text.startswith("certain") and "(2 rows)" in text for text in words(ax))
    assert any(text.startswith("open") and "(2 rows)" in text for text in words(ax))
    assert len({CERTAIN, UNCERTAIN}) == 2
    assert ax.get_ylabel() == "probability of rain"
    assert "sorted" in ax.get_xlabel()
    assert ax.get_title(loc="left") == "four rows"
    ax.figure.savefig(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_rows_are_sorted_by_prediction():
    ax = plot_bounds(BOUNDS, CENTER)
    (points,) = [line for line in ax.get_lines() if len(line.get_xdata()) == 4]
    assert points.get_ydata().tolist() == sorted(CENTER)


def test_without_a_threshold_nothing_is_called_certain():
    ax = plot_bounds(BOUNDS, CENTER)
    assert not any("certain" in text or "decision" in text for text in words(ax))


def test_infinite_bounds_run_out_of_the_picture():
    ax = plot_bounds([[-np.inf, np.inf], [-1.0, 2.0]], [0.0, 1.0], threshold=0.0)
    assert np.isfinite(ax.get_ylim()).all()
    ax.figure.draw_without_rendering()


def test_identical_values_and_a_single_row_can_be_drawn():
    ax = plot_bounds([[1.0, 1.0]], [1.0])
    assert ax.get_ylim()[0] < 1.0 < ax.get_ylim()[1]


def test_axes_that_are_given_are_used():
    mine = Figure().add_subplot()
    assert plot_bounds(BOUNDS, CENTER, ax=mine) is mine


def test_nothing_covers_the_rows():
    ax = plot_bounds(BOUNDS, CENTER, threshold=0.5)
    ax.figure.draw_without_rendering()
    legend, axes = ax.get_legend().get_window_extent(), ax.get_window_extent()
    label = ax.xaxis.label.get_window_extent()
    assert legend.y1 <= min(axes.y0, label.y0)
    assert legend.y0 >= 0


def path_of(kind, with_truth):
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = (X[:, 0] > 0.0) * 1.0
    X[:3, 1] = np.nan
    return penalty_path(kind(), X[:60], y[:60], X[60:], y[60:] if with_truth else None, alphas=[0.1, 1.0, 0.3])


def test_a_path_shows_what_is_right_certain_and_both_over_alpha(tmp_path):
    path = path_of(BoundedClassifier, True)
    ax = plot_penalty_path(path, title="three penalties")
    certain, right, both, best = ax.get_lines()
    order = [0, 2, 1]
    for line, values in ((certain, path.certain), (right, path.score), (both, path.guaranteed_score)):
        assert line.get_xdata().tolist() == [0.1, 0.3, 1.0]
        assert line.get_ydata().tolist() == values[order].tolist()
    assert best.get_xdata()[0] == path.alphas[path.guaranteed_score.argmax()]
    assert [text.split(":")[0] for text in words(ax)[:3]] == ["certain", "right", "certain and right"]
    assert ax.get_xscale() == "log"
    assert ax.get_title(loc="left") == "three penalties"
    ax.figure.savefig(tmp_path / "p.png")
    legend, label = ax.get_legend().get_window_extent(), ax.xaxis.label.get_window_extent()
    assert 0 <= legend.y0 <= legend.y1 <= label.y0


@pytest.mark.parametrize(
    ("kind", "with_truth", "quantity", "n_lines"),
    [
        (BoundedClassifier, False, "share of the test rows", 1),
        (BoundedRegressor, True, "R²", 3),
        (BoundedRegressor, False, "median width of the bounds", 1),
    ],
)
def test_a_path_shows_what_there_is_in_axes_that_are_given(kind, with_truth, quantity, n_lines):
    mine = Figure().add_subplot()
    assert plot_penalty_path(path_of(kind, with_truth), ax=mine) is mine
    assert mine.get_ylabel() == quantity
    assert len(mine.get_lines()) == n_lines


@pytest.mark.parametrize(
    ("bounds", "center", "message"),
    [
        ([0.1, 0.2], [0.1], "shape"),
        (np.zeros((0, 2)), [], "at least one row"),
        (BOUNDS, CENTER[:2], "one value for each"),
        (BOUNDS, np.zeros((4, 2)), "predict_proba"),
        (BOUNDS[:, ::-1], CENTER, "lower bound above"),
        ([[np.nan, 1.0]], [0.5], "NaN"),
    ],
)
def test_wrong_shapes_and_values_are_refused(bounds, center, message):
    with pytest.raises(ValueError, match=message):
        plot_bounds(bounds, center)


def test_without_matplotlib_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from ipub.plots import plot_bounds\n"
        "try: plot_bounds([[0, 1]], [0.5])\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "ipub[plots]"' in done.stdout


def test_pyplot_is_never_imported():
    code = (
        "import sys; from ipub.plots import plot_bounds\n"
        "plot_bounds([[0, 1]], [0.5], threshold=0.5).figure.savefig(sys.stdout.buffer, format='png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
