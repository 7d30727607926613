"""The training: DDP, accumulation, clipping, AdamW, sampler, checkpoint.

torchrun --standalone --nproc-per-node 2 ddp.py --text FILE --out FOLDER
    [--f64] [--bf16] [--shard] [--stop 20] [--resume]
"""

import argparse
import contextlib
import json

import numpy as np
import torch
import torch.distributed as dist
from net import LENGTH, Net
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

ROWS, MICRO, STEPS = 8, 2, 40  # rows of a micro-batch in each process
p = argparse.ArgumentParser()
p.add_argument("--text", required=True)
p.add_argument("--out", required=True)
p.add_argument("--f64", action="store_true")
p.add_argument("--bf16", action="store_true")
p.add_argument("--shard", action="store_true")
p.add_argument("--stop", type=int, default=STEPS)
p.add_argument("--resume", action="store_true")
o = p.parse_args()

# Who am I, and what do I hold?
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = Net()
if rank == 0:
    numbers = {n: w.detach().numpy() for n, w in net.named_parameters()}
    np.savez_compressed(f"{o.out}/start.npz", **numbers)
net = net.double() if o.f64 else net
if o.shard:  # FSDP: a module gathers its weights when it runs
    for module in (*net.blocks, net):
        fully_shard(module)
else:
    net = DistributedDataParallel(net)
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)

# Which rows are mine?
data = np.fromfile(o.text, np.uint8)
rows = data[: len(data) // (LENGTH + 1) * (LENGTH + 1)]
rows = torch.tensor(rows.reshape(-1, LENGTH + 1), dtype=torch.int64)
sampler = DistributedSampler(rows, shuffle=True, seed=0)
loader = DataLoader(rows, ROWS, sampler=sampler, drop_last=True)

# Go on where another left off
done = 0
if o.resume:
    saved = torch.load(f"{o.out}/saved.pt", weights_only=True)
    net.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["optimizer"])
    done = saved["step"]
epoch_steps, losses, order = len(loader) // MICRO, [], []
for step in range(done, o.stop):
    epoch, at = divmod(step, epoch_steps)
    if at == 0 or step == done:
        sampler.set_epoch(epoch)  # forgotten: each epoch in the same order
        batches = iter(loader)
        for _ in range(at * MICRO):  # a loader has no place to go on from
            next(batches)
        order.append(list(sampler))

    # One step: two micro-batches, one sum over the processes
    optimizer.zero_grad()
    total = torch.zeros(())
    for micro in range(MICRO):
        last = micro == MICRO - 1
        if o.shard:
            net.set_requires_gradient_sync(last)
        with contextlib.nullcontext() if last or o.shard else net.no_sync():
            with torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
                loss = net(next(batches))
            (loss / MICRO).backward()
        total = total + loss.detach().double() / MICRO
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()

    # To print it, the loss is averaged, too
    dist.all_reduce(total)
    losses.append(total.item() / world)
    if rank == 0 and (step % 10 == 0 or step == STEPS - 1):
        print(f"step {step:2} loss {losses[-1]:.7f}")

if rank == 0 and not o.shard:
    saved = {"net": net.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(saved | {"step": o.stop}, f"{o.out}/saved.pt")
mine = [w.to_local() if o.shard else w for w in net.parameters()]
told = {"losses": losses, "order": order, "torch": torch.__version__}
told["held"] = sum(w.numel() for w in mine)
with open(f"{o.out}/rank{rank}.json", "w") as file:
    json.dump(told, file)
dist.destroy_process_group()
