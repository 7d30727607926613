"""The step on a TPU slice that is not here: minipod plan plan.py:step --on v5e:2x4 --mesh data=2,model=4"""

from typing import Any

from jax.sharding import AxisType, Mesh

from byte_lm.training import Settings, Training


def step(mesh: Mesh) -> tuple[Any, tuple[Any, ...]]:
    """The step and its arguments, for a mesh of the slice's devices with axes data and model."""
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Explicit,) * 2)
    training = Training(Settings(), mesh)
    return training.step, training.described()
