"""A sum over all stages in a branch that only some of them take."""

import jax
import jax.numpy as jnp
from jax import P, lax

from minipod import traffic

mesh = jax.make_mesh((4,), ("stage",), (jax.sharding.AxisType.Auto,))


def run(w, x):  # w: a copy on every stage
    s = lax.axis_index("stage")

    def forward(x):
        return x @ w

    def backward(x):
        _, back = jax.vjp(lambda w: x @ w, w)
        (dw,) = back(x)  # of a copy: summed over the stages, here
        return x + jnp.sum(dw)

    def tick(x, t):
        x = lax.cond((s + t) % 2 == 0, forward, backward, x)
        return lax.ppermute(x, "stage", [(i, (i + 1) % 4) for i in range(4)])

    return lax.fori_loop(0, 4, lambda t, x: tick(x, t), x)


specs = {"in_specs": (P(), P("stage")), "out_specs": P("stage")}
w, x = jnp.ones((8, 8)), jnp.ones((16, 8))
step = jax.jit(jax.shard_map(run, mesh=mesh, **specs)).lower(w, x).compile()
print(traffic.table(traffic.read(step.as_text(), mesh)), flush=True)
step(w, x).block_until_ready()
