"""One step of one model, with mesh axes of six kinds, alone or together.

    minipod plan lessons/axes/one_model.py:tensor --on v5e:2x2 --mesh tensor=4

Eight layers of attention and MLP, without embedding and head. Each function
takes a mesh, whose axes are of these six, and returns (step, arguments).
"""

from dataclasses import dataclass
from functools import partial
from math import ceil

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax

BF16 = jnp.bfloat16


@dataclass(frozen=True)
class Sizes:
    """rows: sequences of the whole batch. hidden: of a token's MLP, or of both
    of its experts. room: the capacity factor. gated: the MLP has a third
    matrix, as Llama's."""

    layers: int = 8
    width: int = 4096
    heads: int = 32
    groups: int = 8  # heads of keys and values
    hidden: int = 16384
    rows: int = 8
    length: int = 2048
    experts: int = 8
    room: float = 1.25
    dtype: jnp.dtype = BF16
    gated: bool = False

    def shapes(self, experts=False):
        d, of = self.width, self.width // self.heads
        found = {
            "q": (d, self.heads, of),
            "kv": (d, 2, self.groups, of),
            "out": (self.heads, of, d),
            "up": (d, self.hidden),
            "down": (self.hidden, d),
        }
        if experts:
            half = self.hidden // 2
            found["router"] = (d, self.experts)
            found["up"] = (self.experts, d, half)
            found["down"] = (self.experts, half, d)
        if self.gated:
            found["gate"] = found["up"]
        return {name: (self.layers, *shape) for name, shape in found.items()}


AXES = "data", "fsdp", "tensor", "sequence", "expert", "stage"
CUTS = "data", "fsdp", "expert", "sequence"  # those that cut the batch
CUT = {  # what cuts the dimensions of each weight of a layer
    "q": ("fsdp", "tensor", None),
    "kv": ("fsdp", None, "tensor", None),
    "out": ("tensor", None, "fsdp"),
    "up": ("fsdp", "tensor"),
    "gate": ("fsdp", "tensor"),
    "down": ("tensor", "fsdp"),
    "router": ("fsdp", None),
}
OF_EXPERTS = {n: ("expert", *CUT[n]) for n in ("up", "gate", "down")}


def cuts(weights):
    """Of each of these weights, what cuts its dimensions."""
    cut = CUT | OF_EXPERTS if "router" in weights else CUT
    return {name: cut[name] for name in weights}


def specs(axes, weights):
    """The weights' PartitionSpecs, and the batch's [rows, length, width]."""

    def spec(*dims):
        among = [tuple(a for a in dim if a in axes) for dim in dims]
        among = [dim[0] if len(dim) == 1 else dim or None for dim in among]
        while among and among[-1] is None:
            among.pop()
        return P(*among)

    found = {
        name: spec(("stage",), *((axis,) for axis in dims))
        for name, dims in cuts(weights).items()
    }
    return found, spec(CUTS[:3], ("sequence",))


def norm(x):
    x32 = x.astype(jnp.float32)
    scale = lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)
    return (x32 * scale).astype(x.dtype)


def attention(x, w, axes):
    q = jnp.einsum("btd,dhk->bthk", x, w["q"])
    kv = jnp.einsum("btd,dcgk->cbtgk", x, w["kv"])
    at = jnp.arange(x.shape[1])
    if "sequence" in axes:  # the queries here, the keys and values of all
        kv = lax.all_gather(kv, "sequence", axis=2, tiled=True)
        at += lax.axis_index("sequence") * x.shape[1]
    mask = at[:, None] >= jnp.arange(kv.shape[2])
    found = jax.nn.dot_product_attention(q, *kv, mask=mask[None, None])
    return jnp.einsum("bthk,hkd->btd", found, w["out"])


def mlp(x, w):
    inner = x @ w["up"]
    if "gate" in w:
        inner *= jax.nn.silu(x @ w["gate"])
    else:
        inner = jax.nn.gelu(inner)
    return inner @ w["down"]


def experts(x, w, axes, room):
    """Two experts for each token, as in lessons/ch21_experts/packed.py."""
    b, t, d = x.shape
    x, n = x.reshape(-1, d), w["router"].shape[-1]
    scores = jax.nn.softmax(x.astype(jnp.float32) @ w["router"])
    gate, who = lax.top_k(scores, 2)
    gate /= gate.sum(-1, keepdims=True)
    places = ceil(room * len(x) * 2 / n)
    e = who.T.reshape(-1)
    order = jnp.argsort(e)
    place = jnp.arange(e.size, dtype=e.dtype)
    place -= jnp.searchsorted(e[order], jnp.arange(n))[e[order]]
    before = jnp.zeros_like(e).at[order].set(place).reshape(2, -1).T
    slot = jnp.where(before < places, who * places + before, n * places)
    box = jnp.zeros((n * places, d), x.dtype).at[slot].set(x[:, None])
    box = box.reshape(n, places, d)
    if "expert" in axes:
        box = lax.all_to_all(box, "expert", 0, 1, tiled=True)
    inner = jnp.einsum("end,edh->enh", box, w["up"])
    if "gate" in w:
        inner *= jax.nn.silu(jnp.einsum("end,edh->enh", box, w["gate"]))
    else:
        inner = jax.nn.gelu(inner)
    box = jnp.einsum("enh,ehd->end", inner, w["down"])
    if "expert" in axes:
        box = lax.all_to_all(box, "expert", 1, 0, tiled=True)
    back = box.reshape(-1, d).at[slot].get(mode="fill", fill_value=0)
    y = jnp.sum(gate[..., None] * back, 1)
    return y.astype(x.dtype).reshape(b, t, d)


def layers(x, w, axes, room):
    """All layers of w, one after the other; in the backward pass each is
    computed again from its input."""

    def summed(y):
        return lax.psum(y, "tensor") if "tensor" in axes else y

    def whole(a, dims):
        """A weight from all its parts. Where other axes cut the batch, too,
        its gradient's part is summed along them, not all of it."""
        others = tuple(n for n in axes if n in CUTS and n not in dims)
        a = lax.pcast(a, others, to="varying") if others else a
        along = dims.index("fsdp")
        return lax.all_gather(a, "fsdp", axis=along, tiled=True)

    @jax.checkpoint
    def layer(x, w):
        if "fsdp" in axes:
            w = {n: whole(w[n], dims) for n, dims in cuts(w).items()}
        x += summed(attention(norm(x), w, axes))
        if "router" in w:
            return x + summed(experts(norm(x), w, axes, room)), None
        return x + summed(mlp(norm(x), w)), None

    return lax.scan(layer, x, w)[0]


def piped(x, w, axes, room):
    """GPipe as in lessons/ch22_stages/by_grad.py: a microbatch is a row."""
    s, stages, last = lax.axis_index("stage"), lax.axis_size("stage"), len(x)
    to_next = [(i, i + 1) for i in range(stages - 1)]

    def tick(carry, t):
        here, total = carry
        here = jnp.where(s == 0, x[jnp.minimum(t, last - 1)][None], here)
        here = layers(here, w, axes, room)
        mine = (s == stages - 1) & (t >= stages - 1)
        total += jnp.where(mine, jnp.mean(here.astype(jnp.float32) ** 2), 0)
        return (lax.ppermute(here, "stage", to_next), total), None

    start = jnp.zeros_like(x[:1]), jnp.float32(0)
    here, total = lax.pcast(start, "stage", to="varying")
    if over := tuple(a for a in CUTS if a in axes):
        total = lax.pcast(total, over, to="varying")
    start = here, total
    (_, total), _ = lax.scan(tick, start, jnp.arange(last + stages - 1))
    return lax.psum(total, "stage") / last


def loss(w, x, axes, room):
    over = tuple(a for a in CUTS if a in axes)
    if "stage" in axes:
        mean = piped(x, w, axes, room)
    else:
        x = layers(x, w, axes, room)
        mean = jnp.mean(x.astype(jnp.float32) ** 2)
    return lax.pmean(mean, over) if over else mean


def update(w, x, axes=(), room=1.25):
    """One step of gradient descent: (weights, loss)."""
    value, g = jax.value_and_grad(loss)(w, x, axes, room)
    new = jax.tree.map(lambda w, g: (w - 0.1 * g).astype(w.dtype), w, g)
    return new, value


WHOLE = Sizes()


def program(mesh, sizes=WHOLE, experts=False):
    """(step, arguments) on a mesh whose axes are some of AXES."""
    axes = mesh.axis_names
    cut, rows = specs(axes, shapes := sizes.shapes(experts))

    def array(shape, spec):
        on = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, sizes.dtype, sharding=on)

    step = jax.shard_map(
        partial(update, axes=axes, room=sizes.room),
        mesh=mesh,
        in_specs=(cut, rows),
        out_specs=(cut, P()),
    )
    w = {n: array(shape, cut[n]) for n, shape in shapes.items()}
    batch = array((sizes.rows, sizes.length, sizes.width), rows)
    return jax.jit(step, donate_argnums=0), (w, batch)


data = fsdp = tensor = sequence = stage = program
expert = partial(program, experts=True)
