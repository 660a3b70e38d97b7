"""The procedure of SetFit (Tunstall et al., 2022), with the settings of its package.

Each labelled text is paired 20 times with a text of its class and 20 times with one of another class. The network
learns one epoch of these pairs, 16 at a time, with a learning rate of 2e-5; logistic regression learns its vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from hidegl.embedding.tuning import loaded

ROUNDS, PAIRS_AT_ONCE, RATE, WARM_UP, MOST_TOKENS = 20, 16, 2e-5, 0.1, 256
MOST_STEPS = 1500
"""More are too long for a benchmark: 77 classes with 20 labels each would take 3,850."""


def by_setfit(
    texts: list[str], y: NDArray[np.intp], labelled: NDArray[np.intp], seed: int = 0
) -> tuple[NDArray[np.intp], int]:
    """The predicted class of each text, and the number of steps."""
    network, own = loaded("minilm"), [texts[row] for row in labelled]
    pairs = pairs_of(y[labelled], np.random.default_rng(seed))[: MOST_STEPS * PAIRS_AT_ONCE]
    n_steps = -(-len(pairs) // PAIRS_AT_ONCE)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (WARM_UP * n_steps), (n_steps - step) / ((1 - WARM_UP) * n_steps))
    )
    torch.manual_seed(seed)
    network.train()
    for step in range(n_steps):
        first, second, same = pairs[step * PAIRS_AT_ONCE : (step + 1) * PAIRS_AT_ONCE].T
        u, v = (vectors_of(network, [own[place] for place in places]) for places in (first, second))
        target = torch.as_tensor(same, dtype=u.dtype, device=u.device)
        loss = ((torch.nn.functional.cosine_similarity(u, v) - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    X = network.eval().encode(texts, batch_size=64, show_progress_bar=False)
    return LogisticRegression(max_iter=1000).fit(X[labelled], y[labelled]).predict(X), n_steps


def pairs_of(codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Two places and whether they are of one class, for each pair (p, 3), in a random order."""
    places, found = np.arange(len(codes)), []
    for place in np.tile(places, ROUNDS):
        same = places[(codes == codes[place]) & (places != place)]
        other = places[codes != codes[place]]
        found += [(place, rng.choice(choices), target) for choices, target in ((same, 1), (other, 0)) if len(choices)]
    return rng.permutation(np.array(found, dtype=np.intp))


def vectors_of(network: Any, texts: list[str]) -> Any:
    tokens = network.tokenizer(texts, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt")
    return network(dict(tokens.to(network.device)))["sentence_embedding"]
