"""How w is found."""

from ipub.problem.solvers.newton import Solution, solve

__all__ = ["Solution", "solve"]
