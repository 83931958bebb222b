"""
What the intervals decide
=========================

Bounds hold for every filling inside the intervals, so the intervals are the assumption that counts. Here one
column, ``age``, is made partly missing in a table where we know the truth. We compare three ways to say where
an age may lie, and how often they are right.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier, Intervals
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
complete = ~np.isnan(X).any(axis=1)
X, y = X[complete], y[complete]
truth, X_train, y_train, X_test = X[:630], X[:630].copy(), y[:630], X[630:]

# %%
# Ages are missing for a reason
# -----------------------------
#
# Old patients are asked less often here: an age above 60 is missing four times as often as one below.
rng = np.random.default_rng(0)
missing = rng.random(len(truth)) < np.where(truth[:, 0] > 60, 0.24, 0.06)
X_train[missing, 0] = np.nan
seen, unseen = np.nanmean(X_train[:, 0]), truth[missing, 0].mean()
print(
    f"{missing.sum()} ages are missing; the mean of the observed ones is {seen:.0f}, of the missing ones {unseen:.0f}"
)

# %%
# Three assumptions
# -----------------
#
# For each: how many of the missing ages really lie in the interval, which nobody knows outside an
# experiment, how many predictions are certain, and whether the model trained on the true table is within
# the bounds.
choices = {
    "quantile, level 0.5": {"intervals": Intervals(level=0.5)},
    "quantile, level 0.9": {"intervals": "quantile"},
    "possible: 18 to 96": {"intervals": {0: (18, 96)}},
}
center, spread = np.nanmean(X_train, axis=0), np.nanstd(X_train, axis=0)
true_model = BoundedClassifier(alpha=0.1, certificate=None).fit((truth - center) / spread, y_train)
true_score = true_model.decision_function((X_test - center) / spread)

widths = {}
for name, options in choices.items():
    clf = BoundedClassifier(alpha=0.1, scale="standard", **options).fit(X_train, y_train)
    low, high = clf.hole_ranges_[0]
    inside = ((low <= truth[missing, 0]) & (truth[missing, 0] <= high)).mean()
    certain = (clf.predict_set(X_test).sum(axis=1) == 1).mean()
    lower, upper = clf.decision_bounds(X_test).T
    holds = ((lower <= true_score) & (true_score <= upper)).mean()
    widths[name] = upper - lower
    print(f"{name:20} {low:3.0f} to {high:3.0f}: {inside:4.0%} inside, {certain:4.0%} certain, holds for {holds:4.0%}")

# %%
_, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
ax.boxplot(list(widths.values()), tick_labels=list(widths), orientation="horizontal", whis=(0, 100))
ax.invert_yaxis()
ax.set_xlabel("width of the bounds of the score, over the test rows")

# %%
# The narrower the interval, the narrower the bounds, and the more of the truth is left out. Here all bounds
# hold for the model of the true table, also those whose intervals miss half of the ages: errors in
# different rows cancel in part. This is luck, and not promised. What *is* promised needs every missing
# value inside its interval: if somebody may question the result, give the range that nobody can question,
# and show what it costs.
