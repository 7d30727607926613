"""ch22_stages solved a third way: a loop in Python, vjp by hand; two permutes."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def pipelined(w, head, x, y, mesh):
    """The ticks both ways by hand: inputs kept, backward by vjp."""
    n, parts = mesh.size, len(x)
    ticks = parts + n - 1

    def device(w, head, x, y):
        s = lax.axis_index("stage")
        to_next = [(i, i + 1) for i in range(n - 1)]
        to_last = [(i + 1, i) for i in range(n - 1)]
        w = jax.tree.map(lambda a: a[0], w)
        head, x, y = (lax.pcast(a, "stage", to="varying") for a in (head, x, y))

        def layer(w, a):
            return a + jnp.tanh(a @ w["up"]) @ w["down"]

        def loss(head, a, goal):
            return jnp.mean((a @ head - goal) ** 2) / parts

        def ahead(a, t):
            a = jnp.where(s == 0, x[jnp.minimum(t, parts - 1)], a)
            return lax.ppermute(layer(w, a), "stage", to_next), a

        none = jnp.zeros_like(x[0])
        _, kept = lax.scan(ahead, none, jnp.arange(ticks))

        def back(carry, t):
            da, total, dw, dhead = carry
            out, pull = jax.vjp(layer, w, kept[t])
            mine = (s == n - 1) & (t >= n - 1)
            of = jax.value_and_grad(loss, (0, 1))
            off, (dh, dout) = of(head, out, y[jnp.maximum(t - n + 1, 0)])
            total = total + jnp.where(mine, off, 0)
            dhead = dhead + jnp.where(mine, dh, 0)
            more, da = pull(jnp.where(s == n - 1, jnp.where(mine, dout, 0), da))
            dw = jax.tree.map(jnp.add, dw, more)
            return (lax.ppermute(da, "stage", to_last), total, dw, dhead), None

        zero = jax.tree.map(jnp.zeros_like, (none, x[0, 0, 0], w, head))
        (_, total, dw, dhead), _ = lax.scan(
            back, zero, jnp.arange(ticks), reverse=True
        )
        total, dhead = lax.psum((total, dhead), "stage")
        return total, jax.tree.map(lambda a: a[None], dw), dhead

    cut = P("stage")
    specs = {"in_specs": (cut, P(), P(), P()), "out_specs": (P(), cut, P())}
    return jax.shard_map(device, mesh=mesh, **specs)(w, head, x, y)


def shared_gradient(g, mesh):
    last = mesh.size - 1

    def device(g):
        s = lax.axis_index("stage")
        mine = jnp.where((s == 0) | (s == last), g, 0)
        there = lax.ppermute(g, "stage", [(0, last)])
        return mine + there + lax.ppermute(g, "stage", [(last, 0)])

    return jax.shard_map(
        device, mesh=mesh, in_specs=P("stage"), out_specs=P("stage")
    )(g)
