"""What the TPU's compiler makes of the chapter's sums and argmax."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.sharding import AxisType

from minipod import pods, traffic


def report(ask, version):
    """For each program the collectives, and what a device sends for them."""
    lines = [f"8 chips of TPU v5e, libtpu {version}"]

    def note(name, function, shape, dtype, **axes):
        kinds = (AxisType.Explicit,) * len(axes)
        mesh = pods.mesh("v5e:2x4", kinds, **axes)
        cut = NamedSharding(mesh, P(*axes))
        x = jax.ShapeDtypeStruct(shape, dtype, sharding=cut)
        bill = traffic.read(ask(function, x)["text"], mesh)
        parts = [f"{c.op} of {c.bytes} bytes along {c.axes}" for c in bill]
        lines.append(f"{name}: {', '.join(parts)}")
        lines.append(f"    each device sends {traffic.total(bill)}")

    note("sum of the table", jnp.sum, (4, 8), jnp.float32, x=2, y=4)
    note("sum of x", jnp.sum, (32,), jnp.int32, x=8)
    note("argmax of x", jnp.argmax, (32,), jnp.int32, x=8)
    return "\n".join(lines)
