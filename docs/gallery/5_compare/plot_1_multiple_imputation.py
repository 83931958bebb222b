"""
Beside multiple imputation
==========================

Multiple imputation draws M plausible tables, trains on each, and looks at the spread. It answers: *how much
do predictions vary over fillings that my imputation model finds plausible?* The bounds answer: *can any
filling change this prediction?* Here are both, for the same patients and the same model.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from ipub import BoundedClassifier, Draws
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
X_train, y_train = X[:761], y[:761]
X_test = X[761:][~np.isnan(X[761:]).any(axis=1)]  # complete rows: only the training table varies
alpha = 0.1

# %%
# Twenty imputations
# ------------------
#
# ``IterativeImputer`` with ``sample_posterior=True`` draws each table from a Bayesian regression of every
# column on the others. Scaling is the same for all tables, as it is for the bounds.
center, spread = np.nanmean(X_train, axis=0), np.nanstd(X_train, axis=0)
plain = BoundedClassifier(alpha=alpha, certificate=None)
probabilities = []
for seed in range(20):
    filled = IterativeImputer(sample_posterior=True, random_state=seed).fit_transform(X_train)
    plain.fit((filled - center) / spread, y_train)
    probabilities.append(plain.predict_proba((X_test - center) / spread)[:, 1])
lowest, highest = np.min(probabilities, axis=0), np.max(probabilities, axis=0)
changed = (lowest < 0.5) & (highest > 0.5)
print(f"20 trainings: {changed.sum()} of {len(X_test)} classes change, median width {np.median(highest - lowest):.3f}")

# %%
# Bounds
# ------
#
# One training, and its certificate. ``predict_status`` then searches for fillings that change the class.
clf = BoundedClassifier(alpha=alpha, scale="standard").fit(X_train, y_train)
lower, upper = clf.predict_proba_bounds(X_test).T
status = clf.predict_status(X_test)
counts = ", ".join(f"{(status == state).sum()} {state}" for state in ("certain", "open", "unproved"))
print(f"any filling: {counts}, median width {np.median(upper - lower):.3f}")
print(f"open patients whose class none of the 20 imputations changes: {((status == 'open') & ~changed).sum()}")

# %%
_, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
order = np.argsort(clf.predict_proba(X_test)[:, 1])[::3]
at = np.arange(len(order))
ax.vlines(at, lower[order], upper[order], color="#0072B2", alpha=0.35, linewidth=4, label="certified: any filling")
ax.vlines(at, lowest[order], highest[order], color="#D55E00", linewidth=2, label="seen in 20 imputations")
ax.axhline(0.5, color="#333333", linestyle="--", linewidth=1)
ax.set(xlabel="patients, sorted by prediction (every third)", ylabel="probability of malignant")
ax.legend(frameon=False)

# %%
# An imputation may leave the intervals
# -------------------------------------
#
# The bounds hold inside the intervals. A normal regression draws shapes of -0.3 or 5.2 now and then;
# whoever takes these for possible has to give wider intervals.
first = IterativeImputer(sample_posterior=True, random_state=0).fit_transform(X_train)
missing = np.isnan(X_train)
low, high = clf.hole_ranges_.T
outside = ((first < low) | (first > high)) & missing
print(f"{outside.sum()} of {missing.sum()} values of the first imputation lie outside the intervals")
beyond = (lowest < lower) | (highest > upper)
print(f"imputations leave the bounds of {beyond.sum()} of {len(X_test)} patients")

# %%
# A promise for draws
# -------------------
#
# If the imputer's law is what you believe in, ``Draws`` gives it a guarantee: certificates around each
# draw, and a probability that counts the draws. The price is as many trainings as draws.
drawn = BoundedClassifier(alpha=alpha, scale="standard", uncertainty=Draws("chained", n_draws=37, random_state=0))
drawn.fit(X_train, y_train)
certain, width = drawn.predict_set(X_test).sum(axis=1) == 1, np.diff(drawn.predict_proba_bounds(X_test))
print(f"37 certified draws: {certain.sum()} of {len(X_test)} certain, median width {np.median(width):.3f}")

# %%
# .. list-table::
#    :header-rows: 1
#
#    * -
#      - multiple imputation
#      - bounds
#    * - promises
#      - nothing for a single prediction
#      - the prediction of every filling inside the intervals, or what ``Draws`` says
#    * - assumes
#      - a model of the missing values
#      - the intervals; ``Draws``: a law near the imputer's
#    * - finds
#      - variation that is typical
#      - what is possible, and fillings that do it
#    * - costs
#      - twenty imputations and trainings
#      - one training and its certificate; ``Draws``: one for each draw
#
# The two are no rivals: report the typical variation, and add which conclusions no filling can change.
