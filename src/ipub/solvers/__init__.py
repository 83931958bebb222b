"""How w is found."""

from ipub.solvers.newton import Solution, solve

__all__ = ["Solution", "solve"]
