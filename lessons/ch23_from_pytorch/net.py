"""A small transformer over bytes, in PyTorch."""

import torch.nn.functional as F
from torch import nn

LENGTH, WIDTH, HEADS, HIDDEN, LAYERS = 32, 32, 4, 64, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(rows, length, 3, HEADS, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # rows, heads, length, …
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(256, WIDTH)
        self.position = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.logits = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256)

    def forward(self, tokens):  # [rows, length + 1] -> the mean loss
        x = self.embed(tokens[:, :-1]) + self.position.weight
        for block in self.blocks:
            x = block(x)
        logits = self.logits(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
