"""Histograms of the interval lengths, like those of the paper. They need matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.results import SettingResult, TableResult
from ipub.app.files.atomic import whole_file
from ipub.numeric.rounding import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLES = {
    "sphere": ("#2ca02c", "sphere (the paper's IPUB)"),
    "columns": ("#8e44ad", "INewton (weights)"),
    "inewton": ("#e08214", "INewton (whitened)"),
    "tight": ("#0072B2", "tight (ipub's default)"),
}
"""Green and purple as in the paper."""
ATTAINED = ("#333333", "attained by retraining")
BINS = 60
LEAST = 1e-12
"""Lengths below this are drawn there."""
WIDTH, PANEL_HEIGHT = 12.0, 2.8
"""In inches."""


def check_matplotlib() -> None:
    """Say, before any work is done, how to get matplotlib if it is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError('The figures need matplotlib: pip install "ipub[plots]".') from error


def save_histograms(result: TableResult, path: Path) -> None:
    """Draw one panel for each setting of a table, and save them as a PNG.

    Lengths are of the predicted probability, on a logarithmic axis; the histograms are normalised, since
    attained ranges exist for fewer rows.
    """
    from matplotlib.figure import Figure

    columns = sorted({(each.setting.lam, -each.setting.b) for each in result.settings})
    rows = sorted({each.setting.a for each in result.settings})
    figure = Figure(figsize=(WIDTH, PANEL_HEIGHT * max(1.4, len(rows))), dpi=110, layout="constrained")
    panels: Any = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True)
    edges = _edges(result)
    for each in result.settings:
        here = rows.index(each.setting.a), columns.index((each.setting.lam, -each.setting.b))
        _draw(panels[here], each, edges)
    for panel in panels[-1]:
        panel.set_xlabel("length of the probability's interval")
    for panel in panels[:, 0]:
        panel.set_ylabel("share of test rows")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    train, test, features = result.shape
    figure.suptitle(f"{result.name}: {train:,} training rows, {test:,} test rows, {features} features")
    with whole_file(path) as file:
        figure.savefig(file, format="png")


def _drawn(each: SettingResult, method: str) -> Array:
    return np.maximum(each.lengths(method), LEAST)


def _edges(result: TableResult) -> Array:
    """Return bins, equal on a logarithmic axis, that hold all lengths of all panels."""
    every = np.concatenate([_drawn(each, method) for each in result.settings for method in (*STYLES, "attained")])
    low, high = np.log10(every.min()), np.log10(every.max())
    return np.logspace(low - 0.02, high + 0.02, BINS + 1)


def _draw(panel: Axes, each: SettingResult, edges: Array) -> None:
    for method, (colour, label) in STYLES.items():
        found = _drawn(each, method)
        weights = np.full(len(found), 1.0 / len(found))
        panel.hist(found, edges, weights=weights, color=colour, alpha=0.55, label=label)  # type: ignore[arg-type]
    found = _drawn(each, "attained")
    weights = np.full(len(found), 1.0 / len(found))
    panel.hist(
        found,
        edges,  # type: ignore[arg-type]
        weights=weights,
        color=ATTAINED[0],
        histtype="step",
        linewidth=1.2,
        label=f"{ATTAINED[1]} ({len(found)} rows)",
    )
    panel.set_xscale("log")
    setting = each.setting
    panel.set_title(f"λ = {setting.lam:g}, b = {setting.b:g}, a = {setting.a:g}", fontsize="medium")
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
