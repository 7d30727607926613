"""Other answers to the exercises of ch21_experts: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from lessons.ch21_experts import mistakes


def queue__right(who, gate, experts):
    """By the ranks of one sort with two keys, and the counts of the experts."""
    flat = who.T.ravel()
    rank = jnp.argsort(jnp.lexsort((-gate.T.ravel(), flat)))
    count = jnp.bincount(flat, length=experts)
    begin = jnp.cumsum(count) - count
    return (rank - begin[flat]).reshape(who.shape[1], -1).T


def moe__everywhere(x, gate, who, w, capacity, mesh):
    """Every device ends with all tokens."""
    y = mistakes._moe(x, gate, who, w, capacity, mesh)
    return lax.with_sharding_constraint(y, jax.NamedSharding(mesh, P()))


def balance_loss__right(p, who, real, mesh):
    """Padding is sent to an expert that is not there; all sums in one array."""

    def of(p, who, real):
        none = p.shape[1]
        who = jnp.where(real[:, None], who, none)
        f = jnp.zeros(none).at[who.ravel()].add(1, mode="drop")
        tokens = jnp.full(1, real.sum(), float)
        sums = lax.psum(jnp.concatenate([f, real @ p, tokens]), "e")
        f, p, tokens = jnp.split(sums, [none, 2 * none])
        return none * (f @ p) / tokens[0] ** 2 / who.shape[1]

    return jax.shard_map(of, mesh=mesh, in_specs=P("e"), out_specs=P())(p, who, real)


def balance_loss__right_otherwise(p, who, real, mesh):
    """Over all tokens at once: the compiler adds over the devices."""
    tokens = real.sum()
    f = jnp.einsum("tke,t->e", jax.nn.one_hot(who, p.shape[1]), 1.0 * real)
    mean = jnp.einsum("te,t->e", p, 1.0 * real) / tokens
    loss = p.shape[1] * jnp.sum(f / who.shape[1] / tokens * mean)
    return lax.with_sharding_constraint(loss, jax.NamedSharding(mesh, P()))


def balance_loss__over_all_tokens(p, who, real, mesh):
    def of(p, who, real):
        f = real @ jax.nn.one_hot(who, p.shape[1]).sum(1)
        f, mean = lax.pmean((f / who.size, real @ p / len(p)), "e")
        return p.shape[1] * (f @ mean)

    return jax.shard_map(of, mesh=mesh, in_specs=P("e"), out_specs=P())(p, who, real)
