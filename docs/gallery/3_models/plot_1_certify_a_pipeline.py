"""
A pipeline that is already trained
==================================

You have a pipeline of scikit-learn: an imputer, a scaler, a logistic regression. ``certify`` returns bounds
for it, without training it again: they say what the same pipeline would predict, had the missing values been
others.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipub import certify
from ipub.datasets import load_mammographic_masses
from ipub.plots import BoundsDisplay

X, y = load_mammographic_masses()
X_train, y_train, X_test, y_test = X[:761], y[:761], X[761:], y[761:]


def pipeline(C):
    """Train a usual pipeline."""
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=C, max_iter=1000))
    return model.fit(X_train, y_train)


# %%
# One call
# --------
#
# The training rows are needed as they were before the imputer, so that it is known which values were
# missing.
trained = pipeline(C=0.03)
bounded = certify(trained, X_train, y_train)
patient = [[67, 3, 5, 3]]
print(f"{trained.predict_proba(patient)[0, 1]:.3f} lies in {bounded.predict_proba_bounds(patient)[0].round(3)}")

# %%
# The same weights, now with bounds; the result has all methods of a ``BoundedClassifier``.
_, ax = plt.subplots(figsize=(9, 5), layout="constrained")
BoundsDisplay.from_estimator(bounded, X_test, shows_status=True, kind="quadrants", ax=ax)

# %%
# The default penalty is weak
# ---------------------------
#
# ``LogisticRegression`` has ``C=1`` by default, which hardly penalises 761 rows. The accuracy is the same
# for all of these; what can be proved is not.
for C in (1.0, 0.3, 0.1, 0.03, 0.01):
    model = pipeline(C)
    certain = (certify(model, X_train, y_train).predict_set(X_test).sum(axis=1) == 1).mean()
    print(f"C = {C:<5} accuracy {model.score(X_test, y_test):.3f}, certain under any filling {certain:4.0%}")

# %%
# At ``C=1`` a proof fails: this does not mean that fillings change every prediction. A weaker promise may
# still be proved there, see :ref:`the next example
# <sphx_glr_auto_examples_3_models_plot_2_is_my_imputation_safe.py>`. But if the penalty costs no accuracy,
# the stronger one is the better model to hand out.
