"""
Is my imputation safe?
======================

``imputation_report`` takes a trained pipeline with its imputer and proves what it can under every promise,
from "any filling" to "a law near an imputer's". It says which predictions would stay as they are.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import Draws, imputation_report
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
X_train, y_train, X_test = X[:761], y[:761], X[761:]
pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=0.1)).fit(X_train, y_train)
report = imputation_report(pipeline, X_train, y_train, X_test, draws=Draws(n_draws=37, random_state=0), most_rows=None)
table = pd.DataFrame(report.columns())
print(table.round(3).to_string(index=False))

# %%
# ``certain`` is the fraction of the test rows whose class is proved, ``width`` the median width of the
# bounds of the score.
#
# Compared with plain draws
# -------------------------
#
# The usual check is to fill in at random some times, train on each, and see which classes change. The
# report does this too, for comparison: it finds almost nothing, and proves nothing.
print(f"{(~report.plain.certain).sum()} of {len(report.rows)} classes change under {report.plain.name}")
print(report.plain.sentence)

# %%
_, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
names = [*table["promise"], f"{report.plain.name} (no proof)"]
shares = [*table["certain"], report.plain.certain.mean()]
bars = ax.barh(names, shares, color=["#0072B2"] * len(table) + ["#8C8C8C"])
ax.bar_label(bars, [f"{share:.0%}" for share in shares], padding=4)
ax.invert_yaxis()
ax.set(xlabel="predictions that stay the same", xlim=(0, 1.1))
ax.spines[["top", "right"]].set_visible(False)

# %%
# Which rows, and what to say about them
# --------------------------------------
#
# Each promise has a sentence that says exactly what is proved. This is the one to quote:
few = report.promises[2]
rows = report.unsafe_rows(few.name)
print(f"{few.certain.sum()} of {len(report.rows)} predictions are proved under '{few.name}'; not these: {rows}")
print(few.sentence)
