"""
Texts by their words
====================

`TextEmbedder("words")` needs no network and no download: words and pairs of words, weighted and reduced to a few
columns. The extra `text` has a sentence model, which is better on short texts.
"""

import matplotlib.pyplot as plt
import numpy as np

from hidegl import AutoHiDeGL
from hidegl.datasets import draw_labels, hide_labels
from hidegl.embedding import TextEmbedder

TOPICS = {
    "card": "card lost stolen blocked pin chip contactless replacement arrived expired activate plastic".split(),
    "transfer": "transfer sent recipient pending iban reference standing order bounced returned arrive".split(),
    "fees": "fee charged exchange rate statement price monthly refund extra hidden cost abroad".split(),
    "login": "password app login code phone face device reset locked verification screen update".split(),
}
FILLERS = "please my i the why was is can you help with today again it for since".split()

rng = np.random.default_rng(0)


def question(topic):
    words = [*rng.choice(TOPICS[topic], 3, replace=False), *rng.choice(FILLERS, 5, replace=False)]
    if rng.random() < 0.3:  # people speak of two things
        words.append(rng.choice(TOPICS[rng.choice(list(TOPICS))]))
    return " ".join(rng.permutation(words))


truth = rng.choice(list(TOPICS), 800, p=[0.4, 0.3, 0.2, 0.1])
texts = [question(topic) for topic in truth]
print(*texts[:3], sep="\n")

# %%
# Twenty labels for 800 texts:

embedder = TextEmbedder("words")
labelled = draw_labels(truth, 20, seed=0)
y = hide_labels(truth, labelled)  # None where there is no label
model = AutoHiDeGL(random_state=0).fit(embedder.fit_transform(texts), y)
unlabelled = np.setdiff1d(np.arange(len(texts)), labelled)
print(f"{np.mean(model.transduction_[unlabelled] == truth[unlabelled]):.1%} right")
print(model.predict(embedder.transform(["the app says my password is wrong", "which exchange rate was charged"])))

# %%
# Class sizes are estimated, although twenty labels hardly show them:

names = list(model.classes_)
true_shares = [np.mean(truth == name) for name in names]
found_shares = [np.mean(model.transduction_ == name) for name in names]
label_shares = [np.mean(truth[labelled] == name) for name in names]
fig, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for shift, (shares, name, colour) in enumerate(
    [(label_shares, "among the labels", "#c9ced6"), (found_shares, "found", "#1f6feb"), (true_shares, "true", "0.25")]
):
    ax.bar(np.arange(len(names)) + 0.27 * (shift - 1), shares, 0.25, color=colour, label=name)
ax.set_xticks(range(len(names)), names)
ax.set(ylabel="share of the rows")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
