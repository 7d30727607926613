"""Every mistake of drifts in ch24_your_program, and one of budget, spelled differently."""

import jax
import jax.numpy as jnp
from jax import P, lax


def budget__permute_part(bill):
    total = 0
    for c in bill:
        n = c["devices"]
        twice = 2 if c["op"] == "all-reduce" else 1
        total += twice * (n - 1) * c["bytes"] // n * c["times"]
    return total


def _over(mesh, local, w, **options):
    specs = {"in_specs": P("data", None), "out_specs": P()}
    return jax.shard_map(local, mesh=mesh, **specs, **options)(w)


def _back(n):
    return [((i + 1) % n, i) for i in range(n)]


def drifts__cancels(w, mesh):
    def local(mine):
        off = mine[0] - lax.ppermute(mine[0], "data", _back(mesh.size))
        return ~(lax.psum(off.sum(), "data") == 0)

    return _over(mesh, local, w)


def drifts__as_numbers(w, mesh):
    def local(mine):
        same = jnp.array_equal(
            mine, lax.ppermute(mine, "data", _back(mesh.size))
        )
        return lax.pmin(same.astype(jnp.int32), "data") == 0

    return _over(mesh, local, w)


def drifts__tolerance(w, mesh):
    def local(mine):
        there = lax.ppermute(mine, "data", _back(mesh.size))
        near = jnp.isclose(there, mine, 1e-5, 1e-6, equal_nan=True)
        return lax.psum(jnp.sum(~near), "data") > 0

    return _over(mesh, local, w)


def drifts__own_verdict(w, mesh):
    ring = [(i, (i + 1) % mesh.size) for i in range(mesh.size)]

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        return ~jnp.all(bits == lax.ppermute(bits, "data", ring))

    return _over(mesh, local, w, check_vma=False)


def drifts__no_ring(w, mesh):
    line = [(i, i + 1) for i in range(mesh.size - 1)]

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        other = ~jnp.all(bits == lax.ppermute(bits, "data", line))
        return lax.psum(other.astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)


def drifts__pairs(w, mesh):
    n = mesh.size
    swapped = [(i, i + 1 if i % 2 == 0 else i - 1) for i in range(n)]

    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        same = jnp.all(bits == lax.ppermute(bits, "data", swapped))
        return lax.psum(1 - same.astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)


def drifts__gathers(w, mesh):
    def local(mine):
        bits = lax.bitcast_convert_type(mine[0], jnp.uint32)
        every = lax.all_gather(bits, "data")
        other = jnp.any(every != every[:1])
        return lax.pmax(other.astype(jnp.int32), "data") > 0

    return _over(mesh, local, w)
