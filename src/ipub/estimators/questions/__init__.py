"""What users ask about a fitted model beyond its bounds: methods of both estimators, answered in `ipub.answers`."""

from ipub.estimators.questions.metric_ranges import MetricRanges
from ipub.estimators.questions.ranking import Ranking
from ipub.estimators.questions.reporting import Reporting
from ipub.estimators.questions.tipping import Tipping
from ipub.estimators.questions.which_values import WhichValues


class Questions(WhichValues, MetricRanges, Ranking, Tipping, Reporting):
    """All of these methods."""
