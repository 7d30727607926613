"""Two layers of experts on data, expert and tensor axes: loss and gradients.

Rows are split over "data" and "expert", the hidden width over "tensor".
"""

import jax
import jax.numpy as jnp
from chosen import route
from jax import NamedSharding, P, lax
from packed import balance, places, queue

WIDTH, HIDDEN, EXPERTS, TOKENS, LAYERS = 64, 256, 8, 128, 2  # of a device
SHAPES = {
    "router": (LAYERS, WIDTH, EXPERTS),
    "up": (LAYERS, EXPERTS, WIDTH, HIDDEN),
    "down": (LAYERS, EXPERTS, HIDDEN, WIDTH),
    "dense_up": (LAYERS, WIDTH, HIDDEN),
    "dense_down": (LAYERS, HIDDEN, WIDTH),
}
SPECS = {
    "router": P(),
    "up": P(None, "expert", None, "tensor"),
    "down": P(None, "expert", "tensor"),
    "dense_up": P(None, None, "tensor"),
    "dense_down": P(None, "tensor"),
}
ROWS = "data", "expert"


def layer(x, w, factor, late):
    """late: whether parts are sent back, and summed over "tensor" at home."""
    inner = jax.nn.gelu(x @ w["dense_up"])  # stands for all that is dense
    x = x + lax.psum(inner @ w["dense_down"], "tensor")
    p, gate, who = route(x, w["router"])
    room = places(factor, len(x), EXPERTS)
    before = queue(who, EXPERTS)
    slot = jnp.where(before < room, who * room + before, EXPERTS * room)
    box = jnp.zeros((EXPERTS * room, WIDTH)).at[slot].set(x[:, None])
    box = box.reshape(EXPERTS, room, WIDTH)
    there = lax.all_to_all(box, "expert", 0, 1, tiled=True)
    inner = jax.nn.gelu(jnp.einsum("end,edh->enh", there, w["up"]))
    part = jnp.einsum("enh,ehd->end", inner, w["down"])
    part = part if late else lax.psum(part, "tensor")
    back = lax.all_to_all(part, "expert", 1, 0, tiled=True).reshape(-1, WIDTH)
    answers = back.at[slot].get(mode="fill", fill_value=0)
    y = jnp.sum(gate[..., None] * answers, 1)
    y = lax.psum(y, "tensor") if late else y
    return x + y, balance(p, who, lambda x: lax.pmean(x, ROWS))


def program(mesh, factor=1.25, late=False):
    """(the step, its arguments without values)."""

    def loss(w, x):
        x, extra = lax.scan(lambda x, w: layer(x, w, factor, late), x, w)
        return lax.pmean(jnp.mean(x**2), ROWS) + 0.01 * extra.sum()

    def array(shape, spec):
        on = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=on)

    step = jax.shard_map(
        jax.value_and_grad(loss),
        mesh=mesh,
        in_specs=(SPECS, P(ROWS)),
        out_specs=(P(), SPECS),
    )
    w = {name: array(SHAPES[name], SPECS[name]) for name in SHAPES}
    n = mesh.shape["data"] * mesh.shape["expert"]
    return jax.jit(step), (w, array((n * TOKENS, WIDTH), P(ROWS)))
