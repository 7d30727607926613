"""What a way of attention sends, needs beside its arrays, and multiplies."""

import jax
from jax import NamedSharding, P

from minipod import traffic
from minipod.hlo import text, work


def drawn(*shapes):
    """Normal random numbers, float32, an array for each shape."""
    keys = jax.random.split(jax.random.key(0), len(shapes))
    return [jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True)]


def cut(way, mesh, data=None):
    """The way for whole arrays, cut along "s", and their batch along data."""
    spec = P(data, "s")
    return jax.shard_map(way, mesh=mesh, in_specs=spec, out_specs=spec)


def put(mesh, arrays, data=None):
    return jax.device_put(arrays, NamedSharding(mesh, P(data, "s")))


def with_gradient(f):
    """f and its gradients, from the gradient of its result."""

    def both(q, k, v, d_out):
        out, pull = jax.vjp(f, q, k, v)
        return out, *pull(d_out)

    return both


def compiled(f, *arrays):
    return jax.jit(f).lower(*arrays).compile()


def figures(program):
    """(bytes sent, KiB of temporaries, MFLOP of products), of a device."""
    written = program.as_text()
    bill = traffic.read(written)
    flops = work.work(text.parse(written)).flops
    beside = program.memory_analysis().temp_size_in_bytes
    return traffic.total(bill), beside / 2**10, sum(flops.values()) / 1e6
