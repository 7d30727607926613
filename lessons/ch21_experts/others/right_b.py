"""ch21_experts solved a third way: one-hot products on each device, a constraint in place of shard_map."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def queue(who, gate, experts):
    """A running count for each expert, choice after choice, the largest gates first."""

    def one(so_far, e):
        return so_far.at[e].add(1), so_far[e]

    flat = who.T.ravel()
    order = jnp.argsort(gate.T.ravel(), descending=True)
    _, places = lax.scan(one, jnp.zeros(experts, jnp.int32), flat[order])
    _, places = lax.sort_key_val(order, places)
    return places.reshape(who.T.shape).T


def _before(who, gate):
    """Each choice held against each other one."""
    e, g = who.T.ravel(), gate.T.ravel()
    earlier = jnp.tri(len(e), k=-1, dtype=bool)
    first = (g[None] > g[:, None]) | (g[None] == g[:, None]) & earlier
    rivals = first & (e[None] == e[:, None])
    return rivals.sum(1).reshape(who.T.shape).T


def moe(x, gate, who, w, capacity, mesh):
    """Packed by one-hot products, as one did it first."""
    n = w.shape[0]

    def mine(x, gate, who, w):
        at = jax.nn.one_hot(who, n)[..., None]
        at = at * jax.nn.one_hot(_before(who, gate), capacity)[:, :, None]
        box = jnp.einsum("tkec,td->ecd", at, x)
        there = lax.all_to_all(
            box, "e", split_axis=0, concat_axis=1, tiled=True
        )
        done = jax.vmap(jnp.matmul)(there, w)
        back = lax.all_to_all(
            done, "e", split_axis=1, concat_axis=0, tiled=True
        )
        return x + jnp.einsum("tkec,tk,ech->th", at, gate, back)

    return jax.shard_map(mine, mesh=mesh, in_specs=P("e"), out_specs=P("e"))(
        x, gate, who, w
    )


def balance_loss(p, who, real, mesh):
    """Over all tokens at once: the compiler adds over the devices."""
    tokens = real.sum()
    f = jnp.einsum("tke,t->e", jax.nn.one_hot(who, p.shape[1]), 1.0 * real)
    mean = jnp.einsum("te,t->e", p, 1.0 * real) / tokens
    loss = p.shape[1] * jnp.sum(f / who.shape[1] / tokens * mean)
    return lax.with_sharding_constraint(loss, jax.NamedSharding(mesh, P()))
