"""
Clinical: a sensitivity analysis of missing values
==================================================

A diagnostic model is trained on 761 patients with missing findings. The primary analysis fills them in; a
reviewer asks how far its conclusions depend on that. The analysis here departs from the filled-in table step
by step, and says at each step which predictions still hold.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier, Budget
from ipub.datasets import load_mammographic_masses
from ipub.plots import TippingDisplay

X, y = load_mammographic_masses()
X_train, y_train = X[:761], y[:761]
X_test = X[761:][~np.isnan(X[761:]).any(axis=1)]
columns = ["age", "shape", "margin", "density"]
for name, values in zip(columns, X_train.T, strict=True):
    print(f"{name:8} {np.isnan(values).sum():3} of {len(values)} values missing")

# %%
# The primary analysis
# --------------------
primary = BoundedClassifier(alpha="1se", scale="standard", intervals={0: (18, 96)}).fit(X_train, y_train)
print(f"{(primary.predict(X_test) == 'malignant').sum()} of {len(X_test)} patients are predicted malignant")

# %%
# Departures
# ----------
#
# From "at most 1 % of the missing values differ from the filled-in ones" to "any of them may".
shares = [0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 1.0]
certain = []
for share in shares:
    uncertainty = "worst" if share == 1.0 else Budget(share=share)
    clf = BoundedClassifier(
        alpha=primary.alpha_, scale="standard", intervals={0: (18, 96)}, uncertainty=uncertainty
    ).fit(X_train, y_train)
    certain.append((clf.predict_set(X_test).sum(axis=1) == 1).sum())
    print(f"{share:4.0%} of the missing values may differ: {certain[-1]} of {len(X_test)} predictions hold")

# %%
_, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
ax.plot(shares, np.array(certain) / len(X_test), marker="o", color="#0072B2")
ax.set(
    xlabel="share of the missing values that may differ from the filled-in ones",
    ylabel="predictions that hold (proved)",
    ylim=(0.8, 1.005),
)

# %%
# Tipping points
# --------------
#
# For the ten predictions nearest to the threshold: how many missing values have to differ before the class
# changes? To the left of a bar it cannot change, which is proved; at its right end it does, which was found
# by a search.
nearest = X_test[np.argsort(np.abs(primary.decision_function(X_test)))[:10]]
_, ax = plt.subplots(figsize=(9, 4.4), layout="constrained")
at_least, found = primary.flip_distance(nearest).T
TippingDisplay.from_predictions(at_least, found, n_missing=np.isnan(X_train).sum(), ax=ax)

# %%
# A reader can now judge for himself: 155 values are missing, and it is for the clinician to say if it is
# plausible that so many of them were far from what was filled in, all in the direction that hurts.
