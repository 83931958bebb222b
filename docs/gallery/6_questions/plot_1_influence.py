"""
Which missing values matter?
============================

151 values of the training table are missing, and some predictions hang on them. On which? ``influence`` says
how much of the width of predictions each missing value causes: what is proved, whatever the value is, and an
estimate to first order.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses
from ipub.plots import InfluenceDisplay

X, y = load_mammographic_masses()
X = pd.DataFrame(X, columns=["age", "shape", "margin", "density"])
X_train, y_train, X_test = X[:700], y[:700], X[700:].dropna()
clf = BoundedClassifier(alpha=1.0, scale="standard").fit(X_train, y_train)
clf.influence(X_test).head()

# %%
# Row 683 is the patient whose age, once it is known, narrows predictions most. ``lower`` and ``upper`` are
# certified: the range of the score over all fillings becomes narrower by at least the one and at most the other,
# on the average over the test rows.
#
# Columns, and single rows
# ------------------------
#
# The bounds of single values add up to bounds of what several take away together. So whole columns can be compared.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
InfluenceDisplay.from_estimator(clf, X_test, by="column", ax=axes[0])
InfluenceDisplay.from_estimator(clf, X_test, by="row", most=8, ax=axes[1])
axes[0].set_title("by column", fontsize=10)
axes[1].set_title("by row", fontsize=10)

# %%
# One prediction
# --------------
#
# A patient for whom nothing is certain: what would help here?
status = clf.predict_status(X_test)
row = X_test[status != "certain"][:1]
print(clf.decision_bounds(row))
clf.influence(row).head(3)

# %%
# A weaker penalty
# ----------------
#
# The order is that of the estimate, which is there for every model. What is proved depends on the penalty: where it
# is weak, the effect of one value may depend much on all others, and ``lower`` and ``upper`` are far apart.
weaker = BoundedClassifier(alpha=0.1, scale="standard").fit(X_train, y_train)
weaker.influence(X_test, by="column").round(4)
