"""How many predictions are certain, and what that promises."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipub.answers.status import CERTAIN, OPEN, UNPROVED
from ipub.reports.asked import Asked, counts_of
from ipub.reports.words import count, lower, number, upper

NOT_CONFIDENCE = (
    "A range over fillings, not a confidence interval: it says what the model would predict with other values in place "
    "of the missing ones. It says nothing of chance in the sample, and nothing of whether a prediction is right."
)
NO_BOUNDS = (
    "The model was fitted without a certificate, so there are predictions and no bounds: set certificate='tight' and "
    "call fit again."
)


def headline_of(asked: Asked) -> dict[str, Any]:
    """Return the counts, the sentence that says them, what is promised, and what is not."""
    certificates = asked.training.certificates
    counts = None if asked.status is None else counts_of(asked.status)
    return {
        "sentence": _sentence(asked, counts),
        "counts": counts,
        "classes": _by_class(asked),
        "widths": _widths(asked),
        "promise": certificates[0].promise if certificates else None,
        "meaning": _meaning(asked) if certificates else None,
        "converse": _converse(asked) if certificates else None,
        "not_confidence": NOT_CONFIDENCE if certificates else None,
        "notes": _notes(asked),
    }


def _sentence(asked: Asked, counts: dict[str, int] | None) -> str:
    n = len(asked.rows)
    if not asked.is_bounded:
        return NO_BOUNDS
    if counts is None:
        widths = asked.upper - asked.lower
        return (
            f"The bounds of {count(n, 'prediction')} have a median width of {upper(float(np.median(widths)))}; the "
            f"narrowest is {lower(float(widths.min()))} wide, the widest {upper(float(widths.max()))}."
        )
    certain, is_open, unproved = (f"{counts[name]:,}" for name in (CERTAIN, OPEN, UNPROVED))
    if n == 1:
        (state,) = (name for name in counts if counts[name])
        words = {CERTAIN: "is certain (proved)", OPEN: "is open (two fillings disagree; shown)"}
        return f"The one prediction {words.get(state, 'is unproved: neither certain nor shown to change')}."
    if counts[CERTAIN] == n:
        return f"All {n:,} predictions are certain (proved)."
    verb = "is" if counts[CERTAIN] == 1 else "are"
    return (
        f"Of {n:,} predictions {certain} {verb} certain (proved), {is_open} open (two fillings disagree; shown), "
        f"{unproved} unproved."
    )


def _meaning(asked: Asked) -> str:
    if asked.status is None:
        return "So the prediction of a model trained on any of these tables lies within its bounds."
    return "So the class of a certain prediction is the same, whichever of these tables the model is trained on."


def _converse(asked: Asked) -> str:
    if asked.status is None:
        return (
            "The converse is not promised: not every number within the bounds is the prediction of some filling, since "
            "bounds may be wider than they need be."
        )
    return (
        "The converse is not promised: a prediction that is not certain need not change. Of these, open ones do, since "
        "two fillings are known that give different classes; of unproved ones neither is known."
    )


def _by_class(asked: Asked) -> list[dict[str, Any]]:
    """Return how many rows of each predicted class have each status."""
    if asked.status is None:
        return []
    prediction = np.array(asked.prediction, dtype=object)
    names, numbers = np.unique(prediction.astype(str), return_counts=True)
    order = np.argsort(-numbers, kind="stable")
    return [{"class": str(names[k]), **counts_of(asked.status[prediction == names[k]])} for k in order]


def _widths(asked: Asked) -> dict[str, float] | None:
    if not asked.is_bounded:
        return None
    widths = asked.upper - asked.lower
    return {name: float(of(widths)) for name, of in (("median", np.median), ("least", np.min), ("greatest", np.max))}


def _notes(asked: Asked) -> list[str]:
    notes = [certificate.note for certificate in asked.training.certificates if certificate.note]
    notes = list(dict.fromkeys(notes))
    if asked.is_bounded and not asked.has_training_table:
        notes.append(
            "The training table is not at hand (the model was loaded from a file, copied, or trained on files or a "
            "sparse table), so no fillings were searched for: rows that would be open count as unproved."
        )
    if asked.n_not_searched:
        notes.append(
            f"Fillings that change the class were searched for in the {count(asked.n_searched, 'row')} nearest to the "
            f"threshold, for time; "
            f"{count(asked.n_not_searched, 'other row')} whose bounds reach over it "
            f"{'counts' if asked.n_not_searched == 1 else 'count'} as unproved."
        )
    if asked.status is not None and asked.threshold is not None:
        crossing = (asked.status == CERTAIN) & (asked.lower <= asked.threshold) & (asked.upper >= asked.threshold)
        if crossing.any():
            notes.append(
                f"{count(int(crossing.sum()), 'certain row')} {'has' if crossing.sum() == 1 else 'have'} bounds that "
                f"reach over {number(asked.threshold)}: to rule out a change of class takes less than narrow bounds."
            )
    return notes
