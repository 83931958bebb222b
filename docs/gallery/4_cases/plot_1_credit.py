"""
Credit: would the decision have been another one?
=================================================

An applicant who is refused may ask why, and a bank may have to show that the refusal does not rest on gaps in
*other* people's records. The table here is made up, so that the example can be repeated: 900 loans, with the
usual gaps. Credit scores are missing for people without a history, incomes where nobody asked.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ipub import BoundedClassifier, Budget
from ipub.plots import StatusDisplay

rng = np.random.default_rng(3)
n = 900
loans = pd.DataFrame(
    {
        "income": np.exp(rng.normal(10.4, 0.45, n)).round(-2),
        "years_employed": rng.gamma(2.0, 3.0, n).round(),
        "loan": np.exp(rng.normal(9.2, 0.6, n)).round(-2),
        "late_payments": rng.poisson(0.6, n).astype(float),
        "score": rng.normal(620, 70, n).round(),
        "housing": rng.choice(["owns", "rents", "with family"], n, p=[0.4, 0.45, 0.15]),
    }
)
strain = 1.1 * np.log(loans["loan"] / loans["income"]) + 0.7 * loans["late_payments"] - 0.012 * (loans["score"] - 620)
repaid = np.where(strain - 0.05 * loans["years_employed"] + rng.logistic(size=n) < -0.6, "repaid", "default")
loans["score"] = loans["score"].mask(rng.random(n) < np.where(loans["years_employed"] < 3, 0.15, 0.02))
loans["income"] = loans["income"].mask(rng.random(n) < 0.03)
loans["housing"] = loans["housing"].mask(rng.random(n) < 0.02)
train, repaid_train, applicants = loans[:700], repaid[:700], loans[700:].dropna()
print(train.isna().sum())

# %%
# The assumption
# --------------
#
# Scores go from 300 to 850 by definition; those of people without a history are rarely at the very top. The
# range is stated by hand, as it goes into the documentation of the model. Incomes and housing are left to
# the default.
ranges = {"score": (450, 750)}
clf = BoundedClassifier(alpha="1se", scale="standard", intervals=ranges).fit(train, repaid_train)
print(f"accuracy {clf.score(applicants, repaid[applicants.index]):.2f}, alpha {clf.alpha_:.2g}")
status = clf.predict_status(applicants)
_, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
StatusDisplay.from_predictions(status, ax=ax)

# %%
# Refusals that can be defended
# -----------------------------
#
# Of the applicants that the model refuses: how many would be refused whatever the gaps in the records hide?
refused = clf.predict(applicants) == "default"
for state in ("certain", "open", "unproved"):
    print(f"{(status[refused] == state).sum():3} of {refused.sum()} refusals are {state}")

# %%
# Who carries the uncertainty? The share of certain decisions by housing:
by = pd.DataFrame({"housing": applicants["housing"], "certain": status == "certain"})
print(by.groupby("housing")["certain"].agg(["size", "mean"]).round(2))

# %%
# A weaker statement for the rest
# -------------------------------
#
# Under any filling all gaps may conspire. If at most one value in ten differs from what was filled in:
few = BoundedClassifier(alpha=clf.alpha_, scale="standard", intervals=ranges, uncertainty=Budget(share=0.1))
few.fit(train, repaid_train)
certain = few.predict_set(applicants).sum(axis=1) == 1
print(f"{certain.sum()} of {len(certain)} decisions are certain")
print(few.certificate_.promise)

# %%
# The sentence for the file
# -------------------------
#
# For each refused applicant whose decision is certain: *the refusal does not depend on values that are
# missing in the records of former customers, as long as missing scores lie between 450 and 750 and missing
# incomes in the central 90 % of those observed.* It does not say that the refusal is right, or fair.
