"""The network: the first layers of MiniLM, a border and a name score for every token, and a judgement on every piece."""

from __future__ import annotations

import torch
from rows import KINDS, LETTERS, NAME_TAGS, TENSES
from torch import nn
from transformers import AutoModel

POINTER = 48
HIDDEN = 256
NAME_HIDDEN = 128
KEEP, NEEDS, KIND = 0, 1, 2
TENSE = KIND + len(KINDS)
OUTPUTS = TENSE + len(TENSES)


class StatementNetwork(nn.Module):
    """Maps tokens to border scores, pointer keys and states; `judge` maps the states of a piece to its fate, kind and tense."""

    def __init__(self, base: str, layers: int) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(base, add_pooling_layer=False, attn_implementation="eager")
        self.encoder.encoder.layer = self.encoder.encoder.layer[:layers]
        self.encoder.config.num_hidden_layers = layers
        width = self.encoder.config.hidden_size
        self.drop = nn.Dropout(0.1)
        self.borders = nn.Linear(width, 3)
        self.pointer = nn.Linear(width, 3 * POINTER)
        self.names = nn.Sequential(nn.Linear(width + 3 * LETTERS, NAME_HIDDEN), nn.ReLU(), nn.Linear(NAME_HIDDEN, NAME_TAGS))
        self.first = nn.Linear(3 * width, HIDDEN)
        self.second = nn.Linear(HIDDEN, OUTPUTS)

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor, letters: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        states = self.drop(self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=segments).last_hidden_state)
        around = torch.cat((torch.roll(letters, 1, 1), letters, torch.roll(letters, -1, 1)), -1)
        return self.borders(states), self.pointer(states), states, self.names(torch.cat((states, around), -1))

    def judge(self, pooled: torch.Tensor) -> torch.Tensor:
        return self.second(self.drop(torch.relu(self.first(pooled))))


def pooled(states: torch.Tensor, start: int, end: int) -> torch.Tensor:
    """Return mean and maximum of the states of a piece, and the state of the whole input."""
    piece = states[start:end]
    return torch.cat((piece.mean(0), piece.max(0).values, states[0]))
