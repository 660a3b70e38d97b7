"""
Invoices as people write them
=============================

Amounts with signs of money, percentages, dates in words, and several words for "nothing": `hidegl.label` takes the
table as it is, and says what it made of each column.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hidegl

rng = np.random.default_rng(0)
KINDS = {
    # amount, tax rate, days until it is paid, suppliers
    "travel": (420, 7, 14, ["Rail", "Airline", "Hotel"]),
    "software": (95, 19, 30, ["Cloud", "Hosting", "Licence"]),
    "office": (60, 19, 10, ["Paper", "Furniture", "Hosting"]),
    "meals": (38, 7, 0, ["Bistro", "Hotel", "Canteen"]),
}
truth = rng.choice(list(KINDS), 600, p=[0.3, 0.3, 0.2, 0.2])
amounts = [rng.gamma(4, KINDS[kind][0] / 4) for kind in truth]
days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 600), unit="D")
frame = pd.DataFrame(
    {
        "invoice": [f"R-{number}" for number in range(1000, 1600)],
        "amount": [f"${amount:,.2f}" for amount in amounts],
        "tax": [f"{rng.choice([KINDS[kind][1], 19], p=[0.85, 0.15])} %" for kind in truth],
        "issued": [f"{day:%b %d, %Y}" for day in days],
        "paid after": [str(max(0, round(rng.normal(KINDS[kind][2], 5)))) for kind in truth],
        "supplier": [rng.choice(KINDS[kind][3]) for kind in truth],
    }
)
words = np.array(["n/a", "unknown", "-", "?"])
gaps = rng.random((600, 5)) < 0.05
frame.iloc[:, 1:] = frame.iloc[:, 1:].mask(gaps, pd.DataFrame(rng.choice(words, (600, 5)), columns=frame.columns[1:]))
frame.head()

# %%
# Every sixth invoice of the first 240 has a label. The others are labelled, and the most confident labels accepted.

labels = pd.Series(truth).where((frame.index % 6 == 0) & (frame.index < 240))
result = hidegl.label(frame, labels, accept=0.98)
pd.DataFrame(result.task.column_facts)[["column", "kind", "why", "learned", "missing"]]

# %%
# What was promised, and what came true:

free = labels.isna().to_numpy()
right = result.labels == truth
print(result.model.expected_accuracy_)
print(
    f"{right[free].mean():.1%} are right; of the {np.sum(result.accepted & free)} accepted ones, "
    f"{right[result.accepted & free].mean():.1%}"
)

# %%
# The rows for a person, with the two most likely classes:

review = result.review()
review[["invoice", "amount", "supplier", "likely", "confidence", "second"]].head()

# %%

counts = pd.crosstab(result.labels, np.where(result.accepted, "accepted", "to review"))
axes = counts.plot.barh(stacked=True, color=["tab:blue", "lightgrey"], figsize=(7, 3))
axes.set(xlabel="invoices", ylabel="")
axes.legend(title="")
plt.tight_layout()
