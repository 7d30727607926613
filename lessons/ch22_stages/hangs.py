"""A sum over all stages in a branch that only some of them take."""

import jax
import jax.numpy as jnp
from jax import P, lax

mesh = jax.make_mesh((4,), ("stage",), (jax.sharding.AxisType.Auto,))


def run(w, x):  # w: a copy on every stage
    s = lax.axis_index("stage")

    def forward(x):
        return x @ w

    def backward(x):
        dw, dx = jax.vjp(lambda w, x: x @ w, w, x)[1](x)
        return dx + jnp.sum(dw)  # dw: of a copy, so it was summed

    def tick(x, t):
        x = lax.cond((s + t) % 2 == 0, forward, backward, x)
        to_next = [(i, (i + 1) % 4) for i in range(4)]
        return lax.ppermute(x, "stage", to_next), None

    return lax.scan(tick, x, jnp.arange(4))[0]


f = jax.shard_map(
    run, mesh=mesh, in_specs=(P(), P("stage")), out_specs=P("stage")
)
step = jax.jit(f).lower(jnp.ones((8, 8)), jnp.ones((16, 8))).compile()
print("compiled", flush=True)
print(jax.block_until_ready(step(jnp.ones((8, 8)), jnp.ones((16, 8)))).shape)
