"""The paper's experiments and ours: data sets, measurements, and the page of results."""

from experiments.run import reproduce
from experiments.sources import SOURCES

__all__ = ["SOURCES", "reproduce"]
