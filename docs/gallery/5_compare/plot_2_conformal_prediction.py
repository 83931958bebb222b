"""
Beside conformal prediction
===========================

A conformal classifier returns a set of labels that holds the *truth* with a chosen probability. Our set of
labels holds what the *model* would say under every filling. They answer different questions: a patient may be
hard for every model, or easy and still depend on missing values. MAPIE computes the first on the same table.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from mapie.classification import SplitConformalClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import certify
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order], y[order]
train, calibrate, test = slice(0, 500), slice(500, 700), slice(700, None)
model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.03)).fit(X[train], y[train])

# %%
# Two sets of labels
# ------------------
#
# Both are about the same trained pipeline. The conformal one needs 200 calibration rows that the model has
# not seen; the other one the training table as it was before the imputer.
conformal = SplitConformalClassifier(model, confidence_level=0.9, prefit=True).conformalize(X[calibrate], y[calibrate])
_, sets = conformal.predict_set(X[test])
holds_truth = sets[:, :, 0]
bounded = certify(model, X[train], y[train])
possible = bounded.predict_set(X[test])

truth = y[test][:, None] == model.classes_
print(f"conformal: holds the truth for {(holds_truth & truth).any(axis=1).mean():.0%} of the test rows")
print(f"conformal: one label for {(holds_truth.sum(axis=1) == 1).mean():.0%}")
print(f"bounds: one label under every filling for {(possible.sum(axis=1) == 1).mean():.0%}")

# %%
# Four kinds of patients
# ----------------------
surely = np.where(possible.sum(axis=1) == 1, "certain under any filling", "may change with a filling")
sharp = np.where(holds_truth.sum(axis=1) == 1, "one label at 90 %", "both or none at 90 %")
table = pd.crosstab(pd.Series(surely, name=""), pd.Series(sharp, name="conformal set"))
print(table)

# %%
# *Certain under any filling* but *both labels at 90 %*: no data entry would help, the features do not tell.
# *One label at 90 %* but *may change with a filling*: the set is right on average, yet for this patient it
# could have been the other label, had the missing values been known. A conformal interval does not warn of
# that, since it takes the trained model as given.
#
# The sets themselves depend on the filling
# -----------------------------------------
#
# Fill in every missing value with the lower end of its interval, or with the upper end, and do everything
# again. All three conformal predictors keep their promise, which is about averages, with different sets.
found = {}
low, high = bounded.hole_ranges_.T
for name, values in {"mean": np.nanmean(X[train], axis=0), "lower end": low, "upper end": high}.items():
    filled = np.where(np.isnan(X), values, X)
    other = make_pipeline(StandardScaler(), LogisticRegression(C=0.03)).fit(filled[train], y[train])
    again = SplitConformalClassifier(other, confidence_level=0.9, prefit=True)
    found[name] = again.conformalize(filled[calibrate], y[calibrate]).predict_set(filled[test])[1][:, :, 0]
    coverage, differ = (found[name] & truth).any(axis=1).mean(), (found[name] != found["mean"]).any(axis=1).sum()
    print(f"{name:10} holds the truth for {coverage:.0%}; {differ:2} sets are not those of the mean")

# %%
_, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
left = np.zeros(2)
for name, colour in {"one label at 90 %": "#0072B2", "both or none at 90 %": "#E69F00"}.items():
    bars = ax.barh(table.index, table[name], left=left, color=colour, label=f"conformal set: {name}")
    ax.bar_label(bars, label_type="center", color="white")
    left = left + table[name].to_numpy()
ax.set_xlabel("test patients")
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.25), ncols=2)
ax.spines[["top", "right"]].set_visible(False)
