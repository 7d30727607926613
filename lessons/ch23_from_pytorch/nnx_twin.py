"""The model once more in Flax NNX, fed by Grain: forty steps on one device.

python nnx_twin.py OUT
"""

import json
import sys
from functools import partial

import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from rows import MICRO, ROWS, lesson, recorded, table
from twin import HEADS, LAYERS, LENGTH, WIDTH, attend, optimizer, taken

NORM = partial(nnx.LayerNorm, WIDTH, epsilon=1e-5)  # NNX: 1e-6
WEIGHT = {
    nnx.Linear: "kernel",
    nnx.LayerNorm: "scale",
    nnx.Embed: "embedding",
}


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm1, self.norm2 = NORM(rngs=rngs), NORM(rngs=rngs)
        self.qkv = nnx.Linear(WIDTH, 3 * WIDTH, rngs=rngs)
        self.out = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.up = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        qkv = self.qkv(self.norm1(x)).reshape(*x.shape[:2], 3, HEADS, -1)
        x = x + self.out(attend(*jnp.moveaxis(qkv, 2, 0)).reshape(x.shape))
        up = jax.nn.gelu(self.up(self.norm2(x)), approximate=False)
        return x + self.down(up)


class Net(nnx.Module):
    def __init__(self, rngs, dtype):
        # It computes in the dtype that it is made with, whatever is loaded.
        embed = partial(nnx.Embed, param_dtype=dtype, rngs=rngs)
        self.embed, self.position = embed(256, WIDTH), embed(LENGTH, WIDTH)
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])
        self.norm = NORM(rngs=rngs)
        self.logits = nnx.Linear(WIDTH, 256, rngs=rngs)

    def __call__(self, tokens):
        x = self.embed(tokens[:, :-1]) + self.position(jnp.arange(LENGTH))
        for block in self.blocks:
            x = block(x)
        return optax.softmax_cross_entropy_with_integer_labels(
            self.logits(self.norm(x)), tokens[:, 1:]
        ).mean()


def load(net, there, dtype):
    """PyTorch's names lead through the modules."""
    for name, w in taken(there).items():
        *path, kind = name.split(".")
        part = net
        for key in path:
            part = part[int(key)] if key.isdigit() else getattr(part, key)
        kind = WEIGHT[type(part)] if kind == "weight" else kind
        setattr(part, kind, nnx.Param(jnp.asarray(w, dtype)))


def dealt(epoch, rank):
    """The batches of one process: Grain deals as DistributedSampler does."""
    both = np.stack([order[epoch] for order in recorded["order"]], axis=1)
    mine = grain.MapDataset.source(both.reshape(-1))[rank::2]
    return mine.map(lambda i: table[i]).batch(ROWS, drop_remainder=True)


@nnx.jit
def step(net, adam, tokens):
    def mean(net):
        return sum(net(rows) for rows in tokens) / len(tokens)

    value, g = nnx.value_and_grad(mean)(net)
    adam.update(net, g)
    return value


def losses(dtype):
    net = Net(nnx.Rngs(0), dtype)
    load(net, np.load(lesson / "start.npz"), dtype)
    adam = nnx.Optimizer(net, optimizer(), wrt=nnx.Param)
    found = []
    for i in range(len(recorded["losses"]["f32"])):
        epoch, at = divmod(i, len(dealt(0, 0)) // MICRO)
        ranks = dealt(epoch, 0), dealt(epoch, 1)
        micro = range(at * MICRO, (at + 1) * MICRO)
        tokens = [np.concatenate([r[m] for r in ranks]) for m in micro]
        found.append(float(step(net, adam, np.stack(tokens))))
    return found


def defaults():
    dense = nnx.Linear(1024, 1024, rngs=nnx.Rngs(0))
    norm = nnx.LayerNorm(4, rngs=nnx.Rngs(0))
    embed = nnx.Embed(1024, 1024, rngs=nnx.Rngs(0))
    return {
        "LayerNorm, eps": norm.epsilon,
        "Linear, its bias at first": float(dense.bias[...].std()),
        "Linear, its weight at first": float(dense.kernel[...].std()),
        "Embedding at first": float(embed.embedding[...].std()),
    }


if __name__ == "__main__":
    told = {"f32": losses("float32"), "defaults": defaults()}
    with jax.enable_x64(True):
        told["f64"] = losses("float64")
    with open(sys.argv[1], "w") as file:
        json.dump(told, file)
