"""
Intervals from the rest of the row
==================================

Where columns are related, a row tells more about its missing values than the column does.
``intervals="conditional"`` learns an interval for each missing value from the other values of its row, by
conformal quantile regression, and checks it on held-out values.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier

rng = np.random.default_rng(0)
n = 900
height = rng.normal(170, 9, n)
weight = 0.9 * (height - 100) + rng.normal(0, 9, n)
waist = 0.6 * weight + 42 + rng.normal(0, 4, n)
X = np.column_stack([height, weight, waist])
y = np.where((waist - 84) / 5 + rng.logistic(size=n) > 0, "high", "low")
X_train, y_train, X_test = X[:700].copy(), y[:700], X[700:]
hidden = rng.random(700) < 0.08
X_train[hidden, 2] = np.nan  # waists that were not measured, completely at random
print(f"{hidden.sum()} of 700 waists are missing")

# %%
# Two assumptions
# ---------------
names = ["quantile", "conditional"]
models = {
    name: BoundedClassifier(alpha=0.05, scale="standard", intervals=name, random_state=0).fit(X_train, y_train)
    for name in names
}
for name, clf in models.items():
    certain = (clf.predict_set(X_test).sum(axis=1) == 1).mean()
    print(f"{name:12} {certain:4.0%} certain, median width {np.median(np.diff(clf.predict_proba_bounds(X_test))):.3f}")

# %%
# The report says how the intervals did on values that were not used to learn them.
print(models["conditional"].interval_report_)

# %%
# Is the promise kept?
# --------------------
#
# Here we know the true waists. Each bar is the interval of one missing waist; nine in ten should hold the
# truth.
truth = waist[:700][hidden]
low, high = models["conditional"].conditional_intervals_.columns[2].intervals(X_train[hidden])
holds = (low <= truth) & (truth <= high)
print(f"{holds.sum()} of {len(holds)} intervals hold the true waist")

_, ax = plt.subplots(figsize=(9, 4.4), layout="constrained")
ax.plot(weight[:700][~hidden], waist[:700][~hidden], ".", color="#BBBBBB", markersize=3, label="observed rows")
ax.vlines(weight[:700][hidden], low, high, color="#0072B2", alpha=0.6, label="interval of a missing waist")
ax.plot(weight[:700][hidden], truth, "o", color="#D55E00", markersize=3.5, label="the true waist")
for end in models["quantile"].hole_ranges_[2]:
    ax.axhline(end, color="#333333", linestyle=":", linewidth=1)
ax.set(xlabel="weight in kg", ylabel="waist in cm; dotted: the quantile interval of the column")
ax.legend(frameon=False)

# %%
# About a tenth of the missing values may lie outside, so the bounds are for tables whose missing values lie
# inside: no promise is made about the others. And all of it assumes that waists are missing completely at
# random; if they are not, give ranges.
