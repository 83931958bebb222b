"""Pictures of bounds. They need matplotlib: ``pip install "ipub[plots]"``.

The displays follow the habit of scikit-learn: ``from_estimator`` and ``from_predictions`` compute and draw, what was
computed is kept, and ``plot`` draws it again.
"""

from ipub.plots.bounds import BoundsDisplay
from ipub.plots.explanation import ExplanationDisplay
from ipub.plots.influence import InfluenceDisplay
from ipub.plots.intervals import plot_bounds, plot_promises
from ipub.plots.penalties import PathDisplay, plot_penalty_path
from ipub.plots.shift_grids import ShiftGridDisplay
from ipub.plots.status import StatusDisplay
from ipub.plots.style import CERTAIN, UNCERTAIN
from ipub.plots.tipping import TippingDisplay

__all__ = [
    "CERTAIN",
    "UNCERTAIN",
    "BoundsDisplay",
    "ExplanationDisplay",
    "InfluenceDisplay",
    "PathDisplay",
    "ShiftGridDisplay",
    "StatusDisplay",
    "TippingDisplay",
    "plot_bounds",
    "plot_penalty_path",
    "plot_promises",
]
