"""Mutants of rounding, of matrices, of losses and of penalties."""

from __future__ import annotations

from mutants.entry import Mutant

ROUNDING = ("test_rounding.py", "soundness/test_enclosures.py")
LINALG = ("test_linalg.py",)
PENALTIES = ("test_penalties.py", "soundness/test_enclosures.py::test_penalties_are_rounded_outward")
LOSS_TESTS = (
    "losses/test_all_losses.py",
    "losses/test_clipped.py",
    "losses/test_hinge.py",
    "losses/test_logistic.py",
    "losses/test_oracles.py",
)
LOSSES = (*LOSS_TESTS, "soundness/test_enclosures.py")

MUTANTS = (
    # --- rounding ----------------------------------------------------------------------------------------------------
    Mutant("a step of a quarter of a unit", "rounding.py", "step *= EPS", "step *= 0.25 * EPS", ROUNDING),
    Mutant("no step from zero", "rounding.py", "    step += TINY\n", "", ROUNDING),
    Mutant(
        "down goes up", "rounding.py", "np.subtract(value, step, out=step)", "np.add(value, step, out=step)", ROUNDING
    ),
    Mutant(
        "the radius of the nearer end",
        "rounding.py",
        "np.maximum(up(upper - midpoint), up(midpoint - lower))",
        "np.minimum(up(upper - midpoint), up(midpoint - lower))",
        ROUNDING,
    ),
    Mutant(
        "a radius that is not rounded",
        "rounding.py",
        "up(upper - midpoint), up(midpoint - lower)",
        "upper - midpoint, midpoint - lower",
        ROUNDING,
    ),
    Mutant(
        "roundings of a sum are not counted",
        "rounding.py",
        "(roundings * EPS) * magnitude",
        "EPS * magnitude",
        ROUNDING,
    ),
    Mutant(
        "nothing for underflow",
        "rounding.py",
        "up(up((roundings * EPS) * magnitude) + UNDERFLOW)",
        "up(up((roundings * EPS) * magnitude))",
        ROUNDING,
    ),
    Mutant(
        "a sum without its error",
        "rounding.py",
        "return up(total + sum_error(total, roundings))",
        "return up(total)",
        ROUNDING,
    ),
    Mutant(
        "a norm that is not rounded up",
        "rounding.py",
        "up(np.sqrt(sum_upper(squares, vectors.shape[-1] + 1)))",
        "np.sqrt(squares)",
        ROUNDING,
    ),
    Mutant(
        "the lower end of a product without its error",
        "rounding.py",
        "down(product - error)",
        "down(product)",
        ROUNDING,
    ),
    Mutant(
        "the upper end of a product moved down", "rounding.py", "up(product + error)", "up(product - error)", ROUNDING
    ),
    Mutant(
        "a sigmoid taken for exact",
        "rounding.py",
        "slack = (ELEMENTARY_ULPS + 3) * EPS",
        "slack = 0.0 * EPS",
        ("soundness/test_planted_errors.py::test_an_inaccurate_sigmoid_is_covered_and_the_cover_is_needed",),
    ),
    # --- matrices ----------------------------------------------------------------------------------------------------
    Mutant(
        "definite without a margin", "linalg.py", "matrix - np.diag(margin * diagonal)", "matrix + 0.0 * margin", LINALG
    ),
    Mutant(
        "the error of an inverse forgotten",
        "linalg.py",
        "up(2.0 * float(norm_upper(relative.ravel())) / margin)",
        "up(0.0 * float(norm_upper(relative.ravel())) / margin)",
        LINALG,
    ),
    Mutant(
        "a residual without its rounding",
        "linalg.py",
        "up(residual + sum_error(np.eye(d) + np.abs(matrix) @ np.abs(center), d + 3))",
        "up(residual)",
        LINALG,
    ),
    Mutant(
        "an inverse bounded by its center", "linalg.py", "up(np.diag(upper) + self.error)", "np.diag(upper)", LINALG
    ),
    Mutant(
        "half the spread between two inverses",
        "linalg.py",
        "0.5 * large.center - 0.5 * small.center",
        "0.25 * large.center - 0.25 * small.center",
        LINALG,
    ),
    Mutant(
        "the smaller error of two inverses",
        "linalg.py",
        "np.maximum(large.error, small.error)",
        "np.minimum(large.error, small.error)",
        LINALG,
    ),
    Mutant("a form without its rounding", "linalg.py", "up(value + error)", "value", LINALG),
    Mutant(
        "a ratio that is not proved",
        "linalg.py",
        "if definiteness(mu * metric - matrix - np.diag(rounding)) is not None:",
        "if rounding is not None:",
        LINALG,
    ),
    Mutant(
        "forms without the rounding of their sums",
        "linalg.py",
        "up(sum_error(size * size, roundings) + lost)",
        "0.0 * size + lost",
        LINALG,
    ),
    Mutant(
        "products of different columns counted once",
        "linalg.py",
        "np.where(first == second, 1.0, 2.0)",
        "np.where(first == second, 1.0, 1.0)",
        ("test_linalg.py", "soundness/test_cell_terms.py"),
    ),
    Mutant(
        "a joint form without the weights of its parts",
        "linalg.py",
        "factors = weights.sum() / weights",
        "factors = np.ones_like(weights)",
        ("test_linalg.py", "soundness/test_cell_terms.py"),
    ),
    Mutant(
        "a form that is not rounded up",
        "linalg.py",
        "up((4.0 * roundings * EPS * len(form)) * diagonal) + UNDERFLOW",
        "0.0 * diagonal * roundings",
        ("test_linalg.py", "soundness/test_cell_terms.py"),
    ),
    # --- penalties ---------------------------------------------------------------------------------------------------
    Mutant(
        "half the square",
        "penalties.py",
        "up(up(up(w * w) * self.lam_vector(len(w))) / 2.0)",
        "up(up(up(w * w) * self.lam_vector(len(w))) / 4.0)",
        PENALTIES,
    ),
    Mutant(
        "a conjugate with twice the threshold",
        "penalties.py",
        "np.maximum(up(np.abs(q) - self.kappa), 0.0)",
        "np.maximum(up(np.abs(q) - 2.0 * self.kappa), 0.0)",
        PENALTIES,
    ),
    Mutant(
        "a conjugate that is not rounded",
        "penalties.py",
        "up(up(excess * excess) / (2.0 * self.lam))",
        "excess * excess / (2.0 * self.lam)",
        PENALTIES,
    ),
    Mutant(
        "a free coordinate with a finite conjugate",
        "penalties.py",
        "return self._infinite_if_free(q, up(up(excess * excess) / (2.0 * self.lam)))",
        "return up(up(excess * excess) / (2.0 * self.lam))",
        PENALTIES,
    ),
    Mutant(
        "the l1 part with the wrong sign",
        "penalties.py",
        "down(down(lam * w) + kappa * np.sign(w))",
        "down(down(lam * w) - kappa * np.sign(w))",
        PENALTIES,
    ),
    Mutant(
        "a threshold at zero that hides the lower end",
        "penalties.py",
        "np.where(lower < -kappa, down(lower + kappa)",
        "np.where(lower < -kappa, 0.0 * lower",
        PENALTIES,
    ),
    Mutant(
        "the upper end past twice the threshold",
        "penalties.py",
        "np.where(upper > kappa, up(upper - kappa)",
        "np.where(upper > kappa, up(upper - 2.0 * kappa)",
        PENALTIES,
    ),
    # --- losses ------------------------------------------------------------------------------------------------------
    Mutant(
        "the dual of the squared loss with the wrong sign",
        "losses",
        "highest = up(up(error) + up(a / 2.0))",
        "highest = up(up(error) - up(a / 2.0))",
        LOSSES,
    ),
    Mutant(
        "a squared loss rounded once",
        "losses",
        "return up(up(np.abs(y - t)) ** 2)",
        "return up(np.abs(y - t) ** 2)",
        LOSSES,
    ),
    Mutant(
        "half the slope of the squared loss",
        "losses",
        "return 2.0 * down(lower - y), 2.0 * up(upper - y)",
        "return 1.0 * down(lower - y), 1.0 * up(upper - y)",
        LOSSES,
    ),
    Mutant(
        "a hinge beyond its kink costs nothing",
        "losses",
        "np.maximum(0.0, np.maximum(above, below))",
        "np.maximum(0.0, above)",
        LOSSES,
    ),
    Mutant(
        "a hinge at its kink is decided",
        "losses",
        "np.where(lower > 1.0, 0.0, -1.0)",
        "np.where(lower >= 1.0, 0.0, -1.0)",
        LOSSES,
    ),
    Mutant("half the jump of the hinge", "losses", "up(0.5 + 4.0 * EPS", "up(0.25 + 4.0 * EPS", LOSSES),
    Mutant(
        "one end of a conjugate",
        "losses",
        "up(np.maximum(a * lowest, a * highest))",
        "up(a * highest)",
        LOSSES,
    ),
    Mutant(
        "a line taken for endless",
        "losses",
        "np.where(on_line, down(steepness), 0.0)",
        "np.where(on_line, down(steepness), down(steepness))",
        LOSSES,
    ),
    Mutant(
        "a slope at the far end forgotten",
        "losses",
        "(first >= top) | (last <= bottom)",
        "(first >= bottom) | (last <= top)",
        LOSSES,
    ),
    Mutant(
        "a derivative of the logistic rounded inward",
        "losses",
        "np.where(positive, -high_at_lower, low_at_lower)",
        "np.where(positive, -low_at_lower, low_at_lower)",
        LOSSES,
    ),
    Mutant(
        "a steepest curvature away from zero",
        "losses",
        "smallest = np.maximum(-lower, upper), np.maximum(np.maximum(lower, -upper), 0.0)",
        "smallest = np.maximum(-lower, upper), np.minimum(np.abs(lower), np.abs(upper))",
        LOSSES,
    ),
    Mutant("the flattest secant half as far out", "losses", "up(far + move)", "up(far + 0.5 * move)", LOSSES),
    Mutant("the steepest secant not as far in", "losses", "down(near - move)", "down(near - 0.5 * move)", LOSSES),
    Mutant(
        "half the slope of the sigmoid",
        "losses",
        "up(slack * p + 0.25 * up(upper - lower))",
        "up(slack * p + 0.125 * up(upper - lower))",
        LOSSES,
    ),
    Mutant(
        "a flip at the lesser end",
        "losses",
        "return np.maximum(at_lower, at_upper)",
        "return np.minimum(at_lower, at_upper)",
        (*LOSS_TESTS, "soundness/test_wrong_labels.py"),
    ),
    Mutant(
        "half of what a flip does",
        "losses",
        "up(self.derivative_range(-one, lower, upper)[1] - self.derivative_range(one, lower, upper)[0])",
        "up(0.5 * (self.derivative_range(-one, lower, upper)[1] - self.derivative_range(one, lower, upper)[0]))",
        (*LOSS_TESTS, "soundness/test_wrong_labels.py"),
    ),
    Mutant(
        "a residual at one score stands for all rows",
        "losses",
        "0.25 * up(float((upper - lower).max()))",
        "0.0 * up(float((upper - lower).max()))",
        LOSSES,
    ),
    Mutant(
        "a residual at one score stands for an interval",
        "losses",
        "up(np.abs(b - p) + slack * p) + 0.25 * up(upper - lower)",
        "up(np.abs(b - p) + slack * p) + 0.0 * up(upper - lower)",
        LOSSES,
    ),
)
