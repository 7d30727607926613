"""What the TPU's compiler makes of the chapter's products and sums."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P

from minipod import pods, traffic

LAYOUTS = (
    (P("x", None), P(None, "y")),
    (P("x", "y"), P("y", None)),
    (P(None, "y"), P("y", None)),
    (P("x", "y"), P(None, "y")),
)
SUMS = (
    (8, P("y")),
    (8, P(("y", "x"))),
    (8, P(("x", "y"))),
    (8, P()),
    (8192, P()),
)


def report(ask, version):
    """For each program the collectives, and what a device sends for them."""
    mesh = pods.mesh("v5e:2x4", x=2, y=4)
    lines = [f"8 chips of TPU v5e, libtpu {version}"]

    def note(name, function, *args):
        bill = traffic.read(ask(function, *args)["text"], mesh)
        parts = [f"{c.op} of {c.bytes} bytes" for c in bill] or ["nothing"]
        lines.append(f"{name}: {', '.join(parts)}")
        lines.append(f"    each device sends {traffic.total(bill)}")

    def empty(shape, spec):
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)

    for left, right in LAYOUTS:
        factors = empty((16, 32), left), empty((32, 8), right)
        note(f"{left} @ {right}", jnp.matmul, *factors)
    exact = partial(jnp.matmul, precision="highest")
    note("the last, precision highest", exact, *factors)
    for columns, spec in SUMS:
        wanted = NamedSharding(mesh, spec)
        sums = jax.jit(partial(jnp.sum, axis=0), out_shardings=wanted)
        x = empty((4, columns), P("x", "y"))
        note(f"{columns} column sums, {spec}", sums, x)
    everywhere = NamedSharding(mesh, P())
    asked = jax.jit(jnp.matmul, out_shardings=everywhere)
    within = jax.jit(lambda a, b: asked(a, b))
    for k in 64, 8:
        factors = empty((24, k), P(("x", "y"))), empty((k, 72 - k), P())
        for name, program in ("by itself", asked), ("within another", within):
            note(f"24 × {k} @ {k} × {72 - k}, {name}", program, *factors)
    return "\n".join(lines)
