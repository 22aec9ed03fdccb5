"""The network: the layers of MiniLM over both statements, and three scores from the pooled states."""

from __future__ import annotations

import torch
from rows import LABELS
from torch import nn
from transformers import AutoModel


class PairNetwork(nn.Module):
    """Maps an earlier and a later statement to the scores of neither, same and replaces."""

    def __init__(self, base: str, layers: int) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(base, add_pooling_layer=False, attn_implementation="eager")
        self.encoder.encoder.layer = self.encoder.encoder.layer[:layers]
        self.encoder.config.num_hidden_layers = layers
        width = self.encoder.config.hidden_size
        self.drop = nn.Dropout(0.1)
        self.first = nn.Linear(4 * width, width)
        self.second = nn.Linear(width, len(LABELS))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        later = (segments * mask).unsqueeze(-1).to(states.dtype)
        earlier = ((1 - segments) * mask).unsqueeze(-1).to(states.dtype)
        one = (states * earlier).sum(1) / earlier.sum(1)
        other = (states * later).sum(1) / later.sum(1)
        pooled = torch.cat((states[:, 0], one, other, torch.abs(one - other)), -1)
        return self.second(self.drop(torch.relu(self.first(self.drop(pooled)))))
