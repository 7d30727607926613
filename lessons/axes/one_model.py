"""One step of one model, with one mesh axis of six kinds.

    minipod plan lessons/axes/one_model.py:tensor --on v5e:2x2 --mesh tensor=4

Eight layers of attention and MLP, without embedding and head. Each function
takes a mesh of one axis, and returns (step, arguments).
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax

BF16 = jnp.bfloat16


@dataclass(frozen=True)
class Sizes:
    """rows: sequences of the whole batch. hidden: of a token's MLP, or of both
    of its experts. room: the capacity factor."""

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
        return {name: (self.layers, *shape) for name, shape in found.items()}


# How each weight is cut, and the batch [rows, length, width].
COPIES = dict.fromkeys(("q", "kv", "out", "up", "down"), P())
SPECS = {
    "data": COPIES,
    "fsdp": dict.fromkeys(COPIES, P(None, "fsdp")),
    "tensor": {
        "q": P(None, None, "tensor"),
        "kv": P(None, None, None, "tensor"),
        "out": P(None, "tensor"),
        "up": P(None, None, "tensor"),
        "down": P(None, "tensor"),
    },
    "sequence": COPIES,
    "expert": COPIES
    | {"router": P(), "up": P(None, "expert"), "down": P(None, "expert")},
    "stage": dict.fromkeys(COPIES, P("stage")),
}
BATCH = {
    "data": P("data"),
    "fsdp": P("fsdp"),
    "tensor": P(),
    "sequence": P(None, "sequence"),
    "expert": P("expert"),
    "stage": P(),
}


def norm(x):
    x32 = x.astype(jnp.float32)
    scale = lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)
    return (x32 * scale).astype(x.dtype)


def attention(x, w, axis):
    q = jnp.einsum("btd,dhk->bthk", x, w["q"])
    kv = jnp.einsum("btd,dcgk->cbtgk", x, w["kv"])
    at = jnp.arange(x.shape[1])
    if axis == "sequence":  # the queries here, the keys and values of all
        kv = lax.all_gather(kv, axis, axis=2, tiled=True)
        at += lax.axis_index(axis) * x.shape[1]
    mask = at[:, None] >= jnp.arange(kv.shape[2])
    found = jax.nn.dot_product_attention(q, *kv, mask=mask[None, None])
    return jnp.einsum("bthk,hkd->btd", found, w["out"])


def mlp(x, w):
    return jax.nn.gelu(x @ w["up"]) @ w["down"]


def experts(x, w, axis, room):
    """Two experts for each token, as in lessons/ch21_experts/packed.py."""
    b, t, d = x.shape
    x, n = x.reshape(-1, d), w["router"].shape[-1]
    gate, who = lax.top_k(jax.nn.softmax(x @ w["router"]), 2)
    gate /= gate.sum(-1, keepdims=True)
    places = int(room * len(x) * 2 / n)
    e = who.T.reshape(-1)
    order = jnp.argsort(e)
    place = jnp.arange(e.size)
    place -= jnp.searchsorted(e[order], jnp.arange(n))[e[order]]
    before = jnp.zeros_like(e).at[order].set(place).reshape(2, -1).T
    slot = jnp.where(before < places, who * places + before, n * places)
    box = jnp.zeros((n * places, d), x.dtype).at[slot].set(x[:, None])
    box = box.reshape(n, places, d)
    if axis:
        box = lax.all_to_all(box, axis, 0, 1, tiled=True)
    inner = jax.nn.gelu(jnp.einsum("end,edh->enh", box, w["up"]))
    box = jnp.einsum("enh,ehd->end", inner, w["down"])
    if axis:
        box = lax.all_to_all(box, axis, 1, 0, tiled=True)
    back = box.reshape(-1, d).at[slot].get(mode="fill", fill_value=0)
    return jnp.sum(gate[..., None] * back, 1).reshape(b, t, d)


def not_gathered(primitive, *_, **__):
    return not primitive.name.startswith("all_gather")


def layers(x, w, axis, room):
    """All layers of w, one after the other; in the backward pass each is
    computed again from its input."""

    def summed(y):
        return lax.psum(y, axis) if axis == "tensor" else y

    @jax.checkpoint
    def layer(x, w):
        if axis == "fsdp":
            w = {n: lax.all_gather(a, axis, tiled=True) for n, a in w.items()}
        x += summed(attention(norm(x), w, axis))
        if "router" in w:
            return x + experts(norm(x), w, axis, room), None
        return x + summed(mlp(norm(x), w)), None

    return lax.scan(layer, x, w)[0]


def piped(x, w, room):
    """GPipe as in lessons/ch22_stages/by_grad.py: a microbatch is a row."""
    s, stages, last = lax.axis_index("stage"), lax.axis_size("stage"), len(x)
    to_next = [(i, i + 1) for i in range(stages - 1)]

    def tick(carry, t):
        here, total = carry
        here = jnp.where(s == 0, x[jnp.minimum(t, last - 1)][None], here)
        here = layers(here, w, "stage", room)
        mine = (s == stages - 1) & (t >= stages - 1)
        total += jnp.where(mine, jnp.mean(here.astype(jnp.float32) ** 2), 0)
        return (lax.ppermute(here, "stage", to_next), total), None

    start = jnp.zeros_like(x[:1]), jnp.float32(0)
    start = lax.pcast(start, "stage", to="varying")
    (_, total), _ = lax.scan(tick, start, jnp.arange(last + stages - 1))
    return lax.psum(total, "stage") / last


def loss(w, x, axis, room):
    if axis == "stage":
        return piped(x, w, room)
    x = layers(x, w, axis, room)
    mean = jnp.mean(x.astype(jnp.float32) ** 2)
    return mean if axis in (None, "tensor") else lax.pmean(mean, axis)


def update(w, x, axis=None, room=1.25):
    """One step of gradient descent: (weights, loss)."""
    value, g = jax.value_and_grad(loss)(w, x, axis, room)
    new = jax.tree.map(lambda w, g: (w - 0.1 * g).astype(w.dtype), w, g)
    return new, value


WHOLE = Sizes()


def program(mesh, axis, sizes=WHOLE):
    """(step, arguments) on a mesh of this one axis."""

    def array(shape, spec):
        on = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, sizes.dtype, sharding=on)

    step = jax.shard_map(
        partial(update, axis=axis, room=sizes.room),
        mesh=mesh,
        in_specs=(SPECS[axis], BATCH[axis]),
        out_specs=(SPECS[axis], P()),
    )
    shapes = sizes.shapes(axis == "expert")
    w = {n: array(shape, SPECS[axis][n]) for n, shape in shapes.items()}
    batch = array((sizes.rows, sizes.length, sizes.width), BATCH[axis])
    return jax.jit(step, donate_argnums=0), (w, batch)


for axis in SPECS:
    globals()[axis] = partial(program, axis=axis)
