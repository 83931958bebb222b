"""
What a filling changes
======================

Fill the missing values in two hundred ways at random, train two hundred models, and look at the spread of one
prediction. It is smaller than what is possible: random fillings rarely push all values in the direction that
hurts. The certified bounds hold for all fillings, and a search for fillings that push shows how much of the
bounds is really attained.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
X_train, y_train, patient = X[:761], y[:761], X[[780]]
clf = BoundedClassifier(alpha=0.1, scale="standard").fit(X_train, y_train)
low, high = clf.predict_proba_bounds(patient)[0]
print(f"patient {patient[0]}: P(malignant) between {low:.3f} and {high:.3f}, whatever the missing values are")

# %%
# Two hundred random fillings
# ---------------------------
#
# Every missing value is drawn from its interval. The same scaling and penalty are used for every filling,
# so that only the missing values differ.
rng = np.random.default_rng(0)
missing = np.isnan(X_train)
ends = np.broadcast_to(clf.hole_ranges_[:, None, :], (4, 761, 2)).transpose(1, 0, 2)[missing]
plain = BoundedClassifier(alpha=0.1, certificate=None)
mean, deviation = np.nanmean(X_train, axis=0), np.nanstd(X_train, axis=0)


def probability(values):
    """Fill in these values, train, and predict the patient."""
    filled = X_train.copy()
    filled[missing] = values
    return plain.fit((filled - mean) / deviation, y_train).predict_proba((patient - mean) / deviation)[0, 1]


drawn = [probability(rng.uniform(ends[:, 0], ends[:, 1])) for _ in range(200)]

# %%
# Fillings that push
# ------------------
#
# ``attained_bounds`` searches for fillings that move the score of a row as far down or up as it can, and
# retrains on each: these scores are real.
attained = 1 / (1 + np.exp(-clf.attained_bounds(patient)[0]))
for name, (a, b) in {
    "200 random fillings": (min(drawn), max(drawn)),
    "fillings that push": attained,
    "certified bounds": (low, high),
}.items():
    print(f"{name:20} {a:.3f} to {b:.3f}, width {b - a:.3f}")

# %%
_, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
ax.hist(drawn, bins=20, color="#8C8C8C", label="200 random fillings")
ax.axvspan(low, high, color="#0072B2", alpha=0.15, label="certified: no filling leaves this range")
for end, words in zip(attained, ("attained by fillings that push", None), strict=True):
    ax.axvline(end, color="#D55E00", linestyle="--", label=words)
ax.set(xlabel="predicted probability of malignant, one patient", ylabel="fillings")
ax.legend(loc="upper left", bbox_to_anchor=(0, -0.2), frameon=False, ncols=2)

# %%
# Random fillings look reassuring because 155 independent errors nearly cancel. If values are missing for a
# common reason, they do not cancel. Which of the two ranges to look at depends on what you know about why
# they are missing: :ref:`three promises <sphx_glr_auto_examples_1_start_plot_3_three_promises.py>` has the
# steps between them.
