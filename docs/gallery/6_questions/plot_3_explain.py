"""
Why this row?
=============

The class of a patient is open: some filling of the training table gives the other one. Which? ``explain`` finds
one with few changes, trains it, and says how many changes it takes at least, which is proved.
"""

# %%
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
X = pd.DataFrame(X, columns=["age", "shape", "margin", "density"])
clf = BoundedClassifier(alpha=0.1).fit(X[:700], y[:700])
rows = X[700:].dropna()
status = clf.predict_status(rows)
is_open = rows[status == "open"]
row = is_open.iloc[[np.argmin(np.abs(clf.decision_function(is_open)))]]
why = clf.explain(row)
print(why)

# %%
# The changes are a DataFrame, in the units of the table, and ``why.filling`` is the whole training table with them.
# Anybody can train on it: here with scikit-learn.
again = LogisticRegression(C=1.0 / (0.1 * 700), tol=1e-10).fit(why.filling, y[:700])
print(f"predicted {why.prediction}; with {len(why.changes)} other values {again.predict(row)[0]}")
why.changes

# %%
# The picture has the proved bounds, and how far single missing values move the prediction.
display = why.plot()
display.figure_

# %%
# A row with missing values of its own
# ------------------------------------
#
# Here two things are unknown: values of the row, and values of the training table. ``parts`` takes them apart.
own = X[700:][X[700:].isna().any(axis=1)].iloc[[0]]
why = clf.explain(own)
print(why.sentences()[:3])
pd.DataFrame(why.parts)

# %%
# How far may intervals grow?
# ---------------------------
#
# A row whose class is certain stays so if intervals were drawn too narrow, up to a factor.
certain = rows[status == "certain"].iloc[[0]]
clf.explain(certain).growth
