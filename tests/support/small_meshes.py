"""Meshes of the first simulated devices, and how small programs are compiled in half the time."""

from math import prod

import jax
from jax.sharding import AxisType

SOON = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def mesh_of(kind: AxisType = AxisType.Auto, **axes: int) -> jax.sharding.Mesh:
    devices = jax.devices()[: prod(axes.values())]
    return jax.make_mesh(tuple(axes.values()), tuple(axes), (kind,) * len(axes), devices=devices)
