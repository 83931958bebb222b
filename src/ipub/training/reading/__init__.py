"""Reading of tables, labels and weights into rows of intervals; pure functions without state."""

from ipub.training.reading.labels import as_numbers, labels_of
from ipub.training.reading.on_device import DeviceIntervals, in_memory
from ipub.training.reading.parameters import Parameters
from ipub.training.reading.table import Columns, LearntTable, center_sums
from ipub.training.reading.training_data import Expected, TrainingData, read_training_data

__all__ = [
    "Columns",
    "DeviceIntervals",
    "Expected",
    "LearntTable",
    "Parameters",
    "TrainingData",
    "as_numbers",
    "center_sums",
    "in_memory",
    "labels_of",
    "read_training_data",
]
