"""The paper's experiments and ours: data sets, measurements, and the page of results."""

from ipub.experiments.run import reproduce
from ipub.experiments.sources import SOURCES

__all__ = ["SOURCES", "reproduce"]
