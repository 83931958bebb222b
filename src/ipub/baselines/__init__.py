"""What others do about missing values: the rivals of our bounds."""

from ipub.baselines.interval_newton import ParameterBox, interval_newton

__all__ = ["ParameterBox", "interval_newton"]
