"""Plan for a pod that is not here: compile a program for a TPU slice, and read what it needs and takes.

    mesh = pods.mesh("v5e:4x4", data=4, model=4)     # the slice's devices, in torus order
    plan = pods.compile(step, weights, batch)        # ShapeDtypeStructs with NamedShardings on that mesh
    plan.fits, plan.memory, plan.sent, plan.bound    # or look at it: it is a table
    pods.search(program, "v5e:4x4", pods.layouts("v5e:4x4", "data", "model"))    # several at once

A slice is called by its shape, as Cloud calls it (`v5e-16`), or several at once: `2xv5e:4x4` (`minipod.pods.slices`).
`program(mesh)` returns `(function, arguments)`, as for `minipod plan FILE.py:NAME`. Without libtpu what was recorded is
returned, and says so (`minipod.pods.recorded`).

    >>> from minipod import pods
    >>> pods.slice_of("v5e-16").devices
    16
    >>> list(pods.layouts("v5e:4x4", "data", "model"))
    [{'data': 16, 'model': 1}, {'data': 4, 'model': 4}, {'data': 1, 'model': 16}]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from minipod.pods.absent import Device, devices, mesh
    from minipod.pods.facts import rows
    from minipod.pods.plan import Plan
    from minipod.pods.planning import compile, layouts, search, warm
    from minipod.pods.slices import GENERATIONS, Slice, slice_of

__all__ = [
    "GENERATIONS", "Device", "Plan", "Slice", "compile", "devices", "layouts", "mesh", "rows", "search", "slice_of",
    "warm",
]  # fmt: skip

# Imported when asked for: most of them need JAX, which takes a second, and `minipod.choose` computes with slices alone.
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
