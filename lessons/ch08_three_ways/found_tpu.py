"""What the TPU's compiler makes of found.py."""

import jax
from jax import NamedSharding

from lessons.ch08_three_ways import found, what_is_sent
from minipod import pods


def report(ask, version):
    """The report of the page, from the other compiler."""
    mesh = pods.mesh("v5e:2x4", x=8)

    def placed(spec):
        return NamedSharding(mesh, spec)

    def compiled(name, mesh):
        function, arrays, out = found.PROGRAMS[name]
        arguments = [
            jax.ShapeDtypeStruct(s, d, sharding=placed(p)) for s, d, p in arrays
        ]
        with jax.set_mesh(mesh):
            jitted = jax.jit(function, out_shardings=placed(out))
            return ask(jitted, *arguments)["text"]

    head = f"TPU v5e, 8 chips, libtpu {version}"
    return f"{head}\n{what_is_sent.report(mesh, compiled)}"
