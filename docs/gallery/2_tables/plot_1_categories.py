"""
Missing categories
==================

A missing category may be any of the levels of its column. It is not a level of its own, and not a mixture:
bounds hold for every choice of a level.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ipub import BoundedClassifier

rng = np.random.default_rng(0)
n = 500
table = pd.DataFrame(
    {
        "age": rng.integers(20, 80, n).astype(float),
        "site": rng.choice(["north", "east", "west"], n, p=[0.5, 0.3, 0.2]),
        "smoker": rng.choice(["yes", "no"], n, p=[0.3, 0.7]),
    }
)
risk = (table["age"] - 50) / 12 + 1.5 * (table["smoker"] == "yes") + 0.8 * (table["site"] == "west")
outcome = np.where(risk + rng.logistic(size=n) > 0.6, "ill", "well")
for name in table:
    table[name] = table[name].mask(rng.random(n) < 0.03)  # 3 % of each column become missing
print(table[table.isna().any(axis=1)].head(4))

# %%
# Frames of pandas and polars are taken as they are. Do not encode them before: a ``OneHotEncoder`` would
# turn "missing" into a level of its own.
clf = BoundedClassifier(alpha=0.05, scale="standard").fit(table[:400], outcome[:400])
weights = pd.DataFrame(clf.coef_bounds_, index=clf.get_feature_names_out(), columns=["lower", "upper"])
weights.insert(1, "trained", clf.coef_[0])
print(weights.round(3))

# %%
# A patient with gaps
# -------------------
#
# The rows to predict may have missing values too. Each gap adds to the width, some more than others.
patients = pd.DataFrame(
    {
        "age": [61, None, 61, 61],
        "site": ["north", "north", None, "north"],
        "smoker": ["no", "no", "no", None],
    },
    index=["complete", "age missing", "site missing", "smoker missing"],
)
bounds = clf.set_output(transform="pandas").predict_proba_bounds(patients)
possible = np.asarray(clf.predict_set(patients))
print(bounds.round(2).assign(possible=[" or ".join(clf.classes_[row]) for row in possible]))

# %%
_, ax = plt.subplots(figsize=(9, 3), layout="constrained")
center = np.asarray(clf.predict_proba(patients))[:, 1]
ends = bounds.to_numpy()
ax.errorbar(center, range(4), xerr=np.abs(ends.T - center), fmt="o", color="#0072B2", capsize=4)
ax.axvline(0.5, color="#333333", linestyle="--")
ax.set_yticks(range(4), patients.index)
ax.invert_yaxis()
ax.set(xlabel=f"probability of {clf.classes_[1]}, over all fillings of both tables", xlim=(0, 1))

# %%
# The width of the first row comes from the training table alone. What the others add is their own gap: to
# settle these predictions, ask the patient, not the archive.
