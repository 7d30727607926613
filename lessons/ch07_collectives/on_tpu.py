"""What the TPU's compiler makes of an all-reduce, and of its two halves."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax
from jax.sharding import AxisType

from minipod import pods, traffic


def at_once(block):
    return lax.psum(block, "x")


def scattered(block):
    return lax.psum_scatter(block, "x", tiled=True)


def two_halves(block):
    return lax.all_gather(scattered(block), "x", tiled=True)


PROGRAMS = {"psum": at_once, "psum_scatter": scattered, "both": two_halves}


def report(ask, version):
    """For each block and program the collectives, and what a device sends."""
    mesh = pods.mesh("v5e:2x4", (AxisType.Explicit,), x=8)
    cut, lines = P("x"), [f"8 chips of TPU v5e, libtpu {version}"]
    for rows, *columns in (256,), (262_144,), (1024, 128):
        shape = (8 * rows, *columns)
        sharding = NamedSharding(mesh, cut)
        x = jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)
        for name, f in PROGRAMS.items():
            mapped = jax.shard_map(
                f, mesh=mesh, in_specs=cut, out_specs=cut, check_vma=False
            )
            bill = traffic.read(ask(jax.jit(mapped), x)["text"], mesh)
            parts = ", ".join(f"{c.op} of {c.bytes} bytes" for c in bill)
            size = ",".join(map(str, (rows, *columns)))
            lines.append(f"f32[{size}], {name}: {parts}")
            lines.append(f"    each device sends {traffic.total(bill)}")
    return "\n".join(lines)
