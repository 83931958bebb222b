"""The slope certificate for smooth losses alone."""

from __future__ import annotations

from dataclasses import replace

from ipub.certificates.ball import ball
from ipub.certificates.certificate import Certificate
from ipub.certificates.slope.attempt import slope
from ipub.problem import Problem
from ipub.solvers import Solution


def curvature(problem: Problem, solution: Solution) -> Certificate:
    """Certify by slopes where the loss is smooth, and by the half-ball alone, with a note, where it is not."""
    if reason := unsupported_reason(problem):
        return replace(ball(problem, solution), name="curvature", note=reason)
    return replace(slope(problem, solution), name="curvature")


def unsupported_reason(problem: Problem) -> str:
    """Return why a problem has no such certificate, and what is used instead; "" if it has one."""
    if problem.loss.is_smooth:
        return ""
    return f"The derivative of {problem.loss.name} jumps: the half-ball is used alone."
