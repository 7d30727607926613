"""What PyTorch does where it is not told: asked of PyTorch itself.

python defaults_torch.py OUT
"""

import inspect
import json
import sys

import torch
import torch.nn.functional as F
from torch import nn

adam = inspect.signature(torch.optim.AdamW).parameters
unit = nn.Parameter(torch.zeros(1, dtype=torch.float64))
unit.grad = torch.ones_like(unit)
nn.utils.clip_grad_norm_([unit], 0.5)
linear = nn.Linear(1024, 1024)
used, unused = (nn.Parameter(torch.ones(1)) for _ in range(2))
optimizer = torch.optim.AdamW([used, unused], lr=0.1, weight_decay=0.01)
used.sum().backward()
optimizer.step()
found = {
    "AdamW, weight_decay": adam["weight_decay"].default,
    "AdamW, beta2": adam["betas"].default[1],
    "LayerNorm, eps": nn.LayerNorm(4).eps,
    "gelu(1.0)": F.gelu(torch.tensor(1.0, dtype=torch.float64)).item(),
    "a norm of 1, clipped to 0.5": unit.grad.item(),
    "an unused weight, after AdamW": unused.item(),
    "Linear, its bias at first": linear.bias.std().item(),
    "Linear, its weight at first": linear.weight.std().item(),
    "Embedding at first": nn.Embedding(1024, 1024).weight.std().item(),
}
with open(f"{sys.argv[1]}/defaults.json", "w") as file:
    json.dump(found, file)
