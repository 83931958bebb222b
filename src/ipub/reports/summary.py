"""One dictionary with everything that a report says: what is written as JSON, and what the templates show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ipub.progress_bars import part_of_progress, progress
from ipub.reports.asked import Asked, Options
from ipub.reports.sections.departures import departures_of
from ipub.reports.sections.headline import headline_of
from ipub.reports.sections.influence import influence_of
from ipub.reports.sections.metrics import metrics_of
from ipub.reports.sections.plan import plan_of
from ipub.reports.sections.predictions import predictions_of
from ipub.reports.sections.rows_in_full import rows_in_full_of
from ipub.reports.sections.settings import settings_of
from ipub.reports.sections.shifts import shifts_of
from ipub.reports.sections.table import training_table
from ipub.reports.words import text

SCHEMA, SCHEMA_VERSION = "ipub.report", 1
"""The version grows when a key is renamed, removed or changes its meaning; new keys do not change it."""
SENSITIVITY = (
    "Question, assumptions, departures and tipping points are words of sensitivity analysis, as in ICH E9(R1): the "
    "same question is asked under other values in place of the missing ones, to see where its answer tips. Whether a "
    "tipping point is plausible is for people to judge; there is room for it. This report claims no compliance with "
    "any guideline."
)


def summarize(estimator: Any, X: Any, options: Options, verbose: int = 0) -> dict[str, Any]:
    """Ask a fitted estimator everything that its report says of some rows; the numbers are about the work of each."""
    sections: dict[str, tuple[Callable[[Asked], Any], int]] = {
        "headline": (headline_of, 1),
        "table": (training_table, 1),
        "predictions": (predictions_of, 1),
        "influence": (influence_of, 2),
        "plan": (plan_of, 4),
        "metrics": (metrics_of, 2),
        "shifts": (shifts_of, 3),
        "rows_in_full": (lambda asked: rows_in_full_of(asked, departures), 6),
        "settings": (settings_of, 1),
    }
    first = 12
    with progress("Making the report", first + sum(work for _, work in sections.values()), bool(verbose)) as report:
        with part_of_progress(report, 0, 4):
            asked = Asked.of(estimator, X, options)
        with part_of_progress(report, 4, first):
            departures = departures_of(asked)
        asked = asked.settled(departures)
        found = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, **question(asked)}
        for name, (section, work) in sections.items():
            with part_of_progress(report, first, first + work):
                found[name] = section(asked)
            if name == "table":
                found["departures"] = departures
            first += work
    return found


def question(asked: Asked) -> dict[str, Any]:
    """Return what is asked: which predictions, of which rows, by which model."""
    kind = "regression" if not asked.is_classes else "two classes" if asked.threshold is not None else "classes"
    classes = [text(label) for label in asked.estimator.classes_] if asked.is_classes else []
    what = text(asked.options.context.get("target") or ("the class" if classes else "the target"))
    return {
        "title": text(asked.options.title or f"Do the missing values decide {what}?"),
        "question": {
            "sentence": f"What would a model trained on other values in place of the missing ones predict? The "
            f"question is the same for every filling: {asked.quantity}, for each of the rows below.",
            "kind": kind,
            "classes": classes,
            "quantity": asked.quantity,
            "threshold": asked.threshold,
            "rows": len(asked.rows),
            "sensitivity": SENSITIVITY,
        },
    }
