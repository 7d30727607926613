"""The gradient of a mean over rows in two processes, with DDP and without.

torchrun --standalone --nproc-per-node 2 sums_torch.py OUT
"""

import json
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
rank = dist.get_rank()
table = torch.linspace(-1, 1, 13 * 4).reshape(13, 4) ** 3
found = {}
for name, mine in (
    ("alone", range(6 * rank, 6 * rank + 6)),
    ("DDP", range(6 * rank, 6 * rank + 6)),
    ("DDP, 8 and 5 rows", range(8) if rank == 0 else range(8, 13)),
    ("DDP, sampler", DistributedSampler(table, shuffle=False)),
):
    mine, layer = list(mine), torch.nn.Linear(4, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    net = layer if name == "alone" else DistributedDataParallel(layer)
    (net(table[mine]) ** 2).mean().backward()
    found[name] = {"rows": mine, "gradient": layer.weight.grad[0].tolist()}
with open(f"{sys.argv[1]}/sums{rank}.json", "w") as file:
    json.dump(found, file)
dist.destroy_process_group()
