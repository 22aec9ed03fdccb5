"""Fit the request model to the vectors that `vectors.py` made, and write its weights.

usage: fit.py vectors.npz --out ../../src/engram/models/requests/weights.npz
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

RANK, EPOCHS, RATE, DECAY, OTHERS = 8, 40, 3e-3, 0.1, 256
WEAKER = 0.7  # a statement beside a request of another may govern it too
NEAR = 0.3  # weight of the messages that look close and are not governed
WRITTEN = 0.3  # weight of a written request, of which there are many, against a labelled question


def governing(given: dict[str, np.ndarray], seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the map of one fit: down, up, standing, kept."""
    random = torch.Generator().manual_seed(seed)
    statements, background = (_units(given[name]) for name in ("statements", "background"))
    governed, near = torch.tensor(given["governed"]), torch.tensor(given["near"])
    size = statements.shape[1]
    down = (torch.randn(size, RANK, generator=random) * 0.05).requires_grad_()
    up = (torch.randn(size, RANK, generator=random) * 0.05).requires_grad_()
    standing = torch.zeros(size, requires_grad=True)
    kept, sharp = torch.tensor(1.0, requires_grad=True), torch.tensor(10.0, requires_grad=True)
    groups = [{"params": [down, up, standing], "weight_decay": DECAY}, {"params": [kept, sharp], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE)

    def turned(messages: torch.Tensor) -> torch.Tensor:
        return kept * messages + (messages @ down) @ up.T + standing

    for _ in range(EPOCHS):
        for rows in torch.randperm(len(statements), generator=random).split(64):
            chosen = torch.randint(0, governed.shape[1], (len(rows),), generator=random)
            messages, own = turned(governed[rows, chosen]), statements[rows]
            others = background[torch.randint(0, len(background), (OTHERS,), generator=random)]
            scores = sharp * (messages @ torch.cat([own, others]).T)
            weaker = torch.zeros_like(scores)
            weaker[:, : len(rows)] = WEAKER * (1 - torch.eye(len(rows)))
            loss = torch.nn.functional.cross_entropy(scores - weaker, torch.arange(len(rows)))
            right = sharp * (messages * own).sum(1)
            wrong = sharp * (turned(near[rows]) * own[:, None]).sum(2)
            loss = loss + NEAR * torch.nn.functional.softplus(wrong - right[:, None]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return down.detach().numpy(), up.detach().numpy(), standing.detach().numpy(), float(kept.detach())


def _units(rows: np.ndarray) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.tensor(rows.astype(np.float32)), dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    given = dict(np.load(options.vectors))
    fits = [governing(given, seed) for seed in range(3)]
    written = given["governed"].reshape(-1, given["governed"].shape[-1])
    messages = np.concatenate([given["questions"], written])
    asks = np.concatenate([given["asks"], np.ones(len(written), bool)])
    weights = np.concatenate([np.ones(len(given["asks"])), np.full(len(written), WRITTEN)])
    request = LogisticRegression(C=30, max_iter=3000).fit(messages, asks, sample_weight=weights)
    down = np.concatenate([fit[0] / len(fits) for fit in fits], axis=1)
    up = np.concatenate([fit[1] for fit in fits], axis=1)
    standing, kept = np.mean([fit[2] for fit in fits], axis=0), np.mean([fit[3] for fit in fits])
    turned = _units(kept * written + (written @ down) @ up.T + standing)
    cosines = turned[::10] @ _units(given["background"]).T
    np.savez_compressed(
        options.out,
        encoder=given["encoder"],
        asks=request.coef_[0].astype(np.float16),
        bias=request.intercept_[0],
        down=down.astype(np.float16),
        up=up.astype(np.float16),
        standing=standing.astype(np.float16),
        kept=kept,
        background=float(cosines.mean()),
        spread=float(cosines.std(1).mean()),
    )


if __name__ == "__main__":
    main()
