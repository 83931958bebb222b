"""Mutants of the ranges of metrics, row by row and joint."""

from __future__ import annotations

from mutants.entry import Mutant

ROW_BY_ROW = ("answers/test_metrics_row_by_row.py",)
JOINT = ("answers/test_metrics_joint.py", "soundness/test_metric_ranges.py")
PUBLIC = ("estimators/test_metric_ranges.py",)

MUTANTS = (
    # --- row by row ---
    Mutant("a tie is never of the second class", "Counted.ends", "high >= 0.0", "high > 3.0", ROW_BY_ROW),
    Mutant(
        "unknown labels that are open count once",
        "Counted.ends",
        "fn=worst.fn + rejected + open_ - k",
        "fn=worst.fn + rejected",
        ROW_BY_ROW,
    ),
    Mutant("the most are selected at the lower ends", "SelectionRate.ends", "high >= 0.0", "low > 0.0", ROW_BY_ROW),
    Mutant(
        "pairs at the same ends",
        "AreaUnderCurve.ends",
        "((low, high), (high, low))",
        "((low, low), (high, high))",
        ROW_BY_ROW,
    ),
    Mutant("ties count once", "wins", '"right").sum()', '"left").sum()', ROW_BY_ROW),
    Mutant(
        "the better margin for both ends",
        "OfMargin.terms",
        "self.of_margin(worst)[1]",
        "self.of_margin(best)[1]",
        ROW_BY_ROW,
    ),
    Mutant(
        "a target inside has a distance",
        "OfTarget.distances",
        "np.maximum(np.maximum(down(low - y), down(y - high)), 0.0)",
        "np.abs(down(low - y))",
        ROW_BY_ROW,
    ),
    Mutant("a loss turned without its ends", "Negated.ends", "-upper, -lower", "-lower, -upper", ROW_BY_ROW),
    Mutant(
        "a sure prediction of three classes is any possible one",
        "_right",
        "of_label & (possible.sum(axis=-1) == 1) & is_known",
        "of_label & is_known",
        ROW_BY_ROW,
    ),
    Mutant("a variance below 0", "RSquared.of_error", "max(down(variance), 0.0)", "down(variance)", ROW_BY_ROW),
    Mutant("R2 where the variance underflows", "NEAREST", "NEAREST = 1e-140", "NEAREST = 0.0", PUBLIC),
    # --- lines ---
    Mutant("a steeper line", "above_step", "down(1.0 / np", "down(1.5 / np", JOINT),
    Mutant("nothing above rows that may be 0", "above_step", "np.where(high < 0.0", "np.where(high <= 0.0", JOINT),
    Mutant(
        "a line below a step that is above it",
        "below_step",
        "above_step(-high, -low, -at)",
        "above_step(low, high, at)",
        JOINT,
    ),
    Mutant("a chord too low", "above_curve", "return up(ends + ", "return up(0.9 * ends + ", JOINT),
    Mutant("a chord of a curve taken for convex", "above_curve", "0.125 * dent", "0.0 * dent", JOINT),
    Mutant("a tangent of a curve taken for convex", "below_curve", "0.5 * dent", "0.0 * dent", JOINT),
    Mutant("the Brier score taken for convex", "BrierScore.dent", "np.where(q > TWO_THIRDS", "np.where(q > 2.0", JOINT),
    Mutant("a tangent with the other sign", "LogLoss.derivative", "signed(-sign, *", "signed(sign, *", JOINT),
    Mutant(
        "weights of the classes exchanged",
        "BalancedAccuracy.weights",
        "n_negative, n_positive, 2",
        "n_positive, n_negative, 2",
        JOINT,
    ),
    Mutant(
        "margins with the ends of scores",
        "lines_of_steps",
        "(known.low, -known.high)",
        "(known.low, -known.low)",
        JOINT,
    ),
    Mutant("rows below as rows above", "AreaUnderCurve.lines", "-steps.sum(axis=0)", "steps.sum(axis=0)", JOINT),
    Mutant(
        "the wrong side of a loss with its sign turned",
        "Negated.lines",
        "self.loss.lines(known, -side)",
        "self.loss.lines(known, side)",
        PUBLIC,
    ),
    # --- sums of lines ---
    Mutant("missing values of rows forgotten", "LinearForms.upper", "moved[k] = np.bincount", "_ = np.bincount", JOINT),
    Mutant(
        "missing values of rows that cancel",
        "LinearForms.upper",
        "np.abs(each[in_row]) * radii",
        "each[in_row] * radii",
        JOINT,
    ),
    Mutant(
        "rows with missing categories at their better end",
        "LinearForms.upper",
        "ends = np.maximum(*",
        "ends = np.minimum(*",
        JOINT,
    ),
    Mutant(
        "the score of the model in place of a bound",
        "LinearForms.upper",
        "found[:, 1] + loss",
        "found.mean(axis=1) + loss",
        JOINT,
    ),
    Mutant(
        "lines above both groups",
        "Joint._upper",
        "self._lines(metric, less, -side)",
        "self._lines(metric, less, side)",
        JOINT,
    ),
    Mutant(
        "the least is that of the greatest",
        "Joint.of_group",
        "Ends(-bound(metric, rows, -1.0)",
        "Ends(bound(metric, rows, 1.0)",
        JOINT,
    ),
    Mutant(
        "groups exchanged in a difference",
        "Joint.of_difference",
        "self._upper(metric, second, 1.0, less=first)",
        "self._upper(metric, first, 1.0, less=second)",
        JOINT,
    ),
    Mutant(
        "differences of other pairs", "Joint._differences", "low[which], high[which]", "low[which], low[which]", JOINT
    ),
    Mutant("a unit too few", "rounded_to_unit", "np.floor(up(", "-1.0 + np.floor(up(", JOINT),
    Mutant(
        "counts beyond those of all rows",
        "OfAllCounts.from_others",
        "np.minimum(most_tn, most - tp)",
        "np.minimum(most_tn, least - tp)",
        JOINT,
    ),
    Mutant("a count too many", "whole_numbers", "np.ceil(lower)", "1.0 + np.ceil(lower)", JOINT),
    Mutant("sums that may be 0", "conflicting", "upper(factors) < 0.0", "upper(factors) < 1.0", JOINT),
    Mutant("one factor of a sum forgotten", "conflicting", "1.0 / (high - low)[other]", "0.0", JOINT),
    Mutant(
        "groups in which only neighbours conflict",
        "most_together",
        "common &= conflicts[item]",
        "common = conflicts[item]",
        JOINT,
    ),
    Mutant("the lightest of a group", "most_together", "].max())", "].min())", JOINT),
    Mutant(
        "rows that surely count forgotten",
        "Joint._upper_of_steps",
        "float(steps.weight[surely].sum()) + most",
        "most",
        JOINT,
    ),
    Mutant(
        "the other side of conflicts",
        "Joint._conflicts",
        "slopes[:, rows] = sign * factors",
        "slopes[:, rows] = factors",
        JOINT,
    ),
    # --- groups and draws ---
    Mutant("the least difference", "largest_difference", "max(0.0, *upper)", "max(0.0, *lower)", PUBLIC),
    Mutant("the greatest ratio", "least_ratio", "min(1.0, *lower)", "min(1.0, *upper)", PUBLIC),
    Mutant("what holds for all draws", "_Certified.over", "reduce(Ends.joined", "reduce(Ends.within", PUBLIC),
)
