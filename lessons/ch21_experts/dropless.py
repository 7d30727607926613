"""Without a capacity: exactly the rows that go are sent.

    minipod plan lessons/ch21_experts/dropless.py:forward --on v5e:2x4 \\
        --mesh expert=8
"""

import jax
import jax.numpy as jnp
from chosen import route
from jax import NamedSharding, P, lax


def dropless(w, x, bound, swap=lax.ragged_all_to_all):
    """x: this device's tokens. bound: the rows that a device can take."""
    _, gate, who = route(x, w["router"])
    k, axis, own = who.shape[-1], "expert", w["up"].shape[0]
    n, me = lax.axis_size(axis), lax.axis_index(axis)
    e = who.reshape(-1)
    order = jnp.argsort(e)  # by expert, so by device
    rows = x[order // k]
    count = jnp.zeros((n, own), jnp.int32).at[e // own, e % own].add(1)
    every = lax.all_gather(count, axis)  # [from, to, its expert]: all know all
    sent = every.sum(2)  # [from, to]
    leave = jnp.cumsum(sent, 1) - sent  # where those rows begin at the sender
    arrive = jnp.cumsum(sent, 0) - sent  # where they begin at the RECEIVER

    room = jnp.zeros((bound, x.shape[1]), x.dtype)
    got = swap(
        rows,
        lax.pcast(room, axis, to="varying"),
        input_offsets=leave[me],
        send_sizes=sent[me],
        output_offsets=arrive[me],
        recv_sizes=sent[:, me],
        axis_name=axis,
    )
    # They lie by sender, then by expert: sort them by expert.
    mine = every[:, me]
    of = jnp.tile(jnp.arange(own), n)
    of = jnp.repeat(of, mine.reshape(-1), total_repeat_length=bound)
    of = jnp.where(jnp.arange(bound) < mine.sum(), of, own)  # the rest: last
    again, groups = jnp.argsort(of), mine.sum(0)
    inner = jax.nn.gelu(lax.ragged_dot(got[again], w["up"], groups))
    y = lax.ragged_dot(inner, w["down"], groups)
    y = jnp.zeros_like(y).at[again].set(y)

    back = swap(  # [to, from]: columns where there were rows
        y,
        jnp.zeros_like(rows),
        input_offsets=arrive[:, me],
        send_sizes=sent[:, me],
        output_offsets=leave[:, me],
        recv_sizes=sent[me],
        axis_name=axis,
    )
    answers = jnp.zeros_like(back).at[order].set(back).reshape(*who.shape, -1)
    return jnp.einsum("tk,tkd->td", gate, answers).astype(x.dtype)


def by_hand(
    rows, out, input_offsets, send_sizes, output_offsets, recv_sizes, axis_name
):
    """What ragged_all_to_all means, slowly: all get all and keep theirs."""
    lists = input_offsets, send_sizes, output_offsets
    every = lax.all_gather((rows, *lists), axis_name)
    me, i = lax.axis_index(axis_name), jnp.arange(len(rows))

    def one(out, sender):
        theirs, begin, size, at = sender
        for_me = (i >= begin[me]) & (i < begin[me] + size[me])
        to = jnp.where(for_me, i - begin[me] + at[me], len(out))
        return out.at[to].set(theirs, mode="drop"), None

    return lax.scan(one, out, every)[0]


SPECS = {"router": P(), "up": P("expert"), "down": P("expert")}


def program(mesh, bound=512, grad=False, swap=lax.ragged_all_to_all):
    """(the layer or its gradients, its arguments): 64 tokens a device."""

    def array(spec, *shape):
        on = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=on)

    w = {
        "router": array(P(), 128, 16),
        "up": array(P("expert"), 16, 128, 256),
        "down": array(P("expert"), 16, 256, 128),
    }
    f = jax.shard_map(
        lambda w, x: dropless(w, x, bound, swap),
        mesh=mesh,
        in_specs=(SPECS, P("expert")),
        out_specs=P("expert"),
    )
    g = jax.grad(lambda w, x: jnp.sum(f(w, x) ** 2), (0, 1))
    return jax.jit(g if grad else f), (w, array(P("expert"), 512, 128))


def forward(mesh):
    return program(mesh)


def backward(mesh):
    return program(mesh, grad=True)
