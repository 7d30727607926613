"""How much memory the TPU's compiler wants for the chapter's model."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P

from minipod import pods


def init(data):  # the data of a key
    one, two = jax.random.split(jax.random.wrap_key_data(data))
    return {
        "hidden": jax.random.normal(one, (512, 1024)),
        "out": jax.random.normal(two, (1024, 512)),
    }


def report(ask, version):
    """The bytes on a device: parameters, and work space."""
    mesh = pods.mesh("v5e:2x4", x=2, y=4)
    everywhere = NamedSharding(mesh, P())
    key = jax.ShapeDtypeStruct((2,), jnp.uint32, sharding=everywhere)
    cut = {"hidden": P("x", "y"), "out": P("y", "x")}
    lines = [f"8 chips of TPU v5e, libtpu {version}"]
    for name, specs in ("whole", dict.fromkeys(cut, P())), ("cut", cut):
        out = {k: NamedSharding(mesh, spec) for k, spec in specs.items()}
        memory = ask(jax.jit(init, out_shardings=out), key)["memory"]
        sizes = f"{memory['output']:9,} bytes of parameters, "
        lines.append(f"{name:6}{sizes}{memory['temp']:9,} of work space")
    return "\n".join(lines)
