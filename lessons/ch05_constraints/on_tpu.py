"""What the TPU's compiler makes of the chapter's model and sums."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.lax import with_sharding_constraint
from jax.sharding import AxisType

from minipod import pods, traffic


def report(ask, version):
    """For each program the layout of its result, the collectives, and what a
    device sends for them."""
    mesh = pods.mesh("v5e:2x4", x=2, y=4)
    lines = [f"8 chips of TPU v5e, libtpu {version}"]

    def note(name, function, *args):
        answer = ask(function, *args)
        bill = traffic.read(answer["text"], mesh)
        parts = [f"{c.op} of {c.bytes} bytes" for c in bill] or ["nothing"]
        lines.append(f"{name} -> {answer['specs'][0]}: {', '.join(parts)}")
        lines.append(f"    each device sends {traffic.total(bill)}")

    def empty(shape, *spec):
        sharding = NamedSharding(mesh, P(*spec))
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)

    def ask_for(x, *spec):
        return with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def model(batch, w1, w2):
        return jnp.tanh(batch @ w1) @ w2

    def model_told(*args):
        return ask_for(model(*args), "x", None)

    def model_overruled(batch, w1, w2):
        return ask_for(jnp.tanh(batch @ w1)) @ w2

    w1, w2 = empty((32, 64), "x", "y"), empty((64, 32), "y", "x")
    for rows in 16, 64:
        batch = empty((rows, 32), "x", None)
        note(f"model, {rows} rows", model, batch, w1, w2)
        note(f"model_told, {rows} rows", model_told, batch, w1, w2)
    batch = empty((16, 32), "x", None)
    note("model_overruled, 16 rows", model_overruled, batch, w1, w2)
    x = empty((4, 8), "x", "y")
    for spec in ("x", "y"), ("y", "x"), "x":
        note("sums", lambda x, spec=spec: ask_for(x.sum(axis=0), spec), x)
    sales = empty((16, 32), "x", "y")
    note("totals", lambda x: jnp.cumsum(x, axis=1), sales)

    def totals_by_row(x):
        return jnp.cumsum(ask_for(x, ("x", "y"), None), axis=1)

    note("totals_by_row", totals_by_row, sales)
    mesh = pods.mesh("v5e:2x4", (AxisType.Explicit,) * 2, x=2, y=4)
    w = empty((8, 4), "y", None)
    for spec in ("x", None), ("x", "y"), (None, None):
        wanted = NamedSharding(mesh, P(*spec))
        product = partial(jnp.dot, out_sharding=wanted)
        note("product", product, empty((4, 8), "x", "y"), w)
    return "\n".join(lines)
