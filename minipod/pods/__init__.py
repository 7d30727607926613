"""Compile a program for a TPU slice that you do not have, and read what it needs and how long it takes.

    mesh = pods.mesh("v5e:4x4", data=4, model=4)     # the slice's devices, in torus order
    plan = pods.compile(step, weights, batch)        # ShapeDtypeStructs with NamedShardings on that mesh
    plan.fits, plan.memory, plan.sent, plan.bound    # print(plan) shows a table
    pods.search(program, "v5e:4x4", pods.layouts("v5e:4x4", "data", "model"))    # one plan for each layout

The name of a slice has its shape (`v5e:4x4`), or is Cloud's name (`v5e-16`); `2xv5e:4x4` is two slices
(`minipod.pods.slices`). `program(mesh)` returns `(function, arguments)`, as for `minipod plan FILE.py:NAME`. Without
libtpu, a plan that was recorded earlier is returned and says so (`minipod.pods.recorded`).

    >>> from minipod import pods
    >>> pods.slice_of("v5e-16").devices
    16
    >>> list(pods.layouts("v5e:4x4", "data", "model"))
    [{'data': 16, 'model': 1}, {'data': 4, 'model': 4}, {'data': 1, 'model': 16}]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minipod.hlo.groups import rows
    from minipod.pods.absent import Device, devices, mesh
    from minipod.pods.plan import Plan
    from minipod.pods.planning import compile, layouts, search, warm
    from minipod.pods.slices import GENERATIONS, Slice, slice_of

__all__ = [
    "GENERATIONS", "Device", "Plan", "Slice", "compile", "devices", "layouts", "mesh", "rows", "search", "slice_of",
    "warm",
]  # fmt: skip

# Imported on first use: most of these modules import JAX, which takes a second; `minipod.choose` needs slices alone.
_WHERE = {
    "absent": ("Device", "devices", "mesh"),
    "facts": ("rows",),
    "planning": ("compile", "layouts", "search", "warm"),
    "plan": ("Plan",),
    "slices": ("GENERATIONS", "Slice", "slice_of"),
}


def __getattr__(name: str) -> Any:
    where = next((module for module, names in _WHERE.items() if name in (module, *names)), "")
    if not where:
        raise AttributeError(f"module 'minipod.pods' has no attribute {name!r}")
    module = import_module(f"minipod.pods.{where}")
    return module if name == where else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
