"""Compile a program in a file ahead of time, as JAX does: on the devices of a topology, by the user's own jit.

This runs only in the process that loads libtpu (`compile_process`). So callbacks, compiler options, layouts, host
memory and kernels are compiled as they would be on the slice; `jax.export` cannot write all of these.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding

from minipod.hlo.compiled import unwrapped
from minipod.pods import absent, largest
from minipod.pods.on_slice import on_slice
from minipod.pods.program_file import Made, Mistake, as_mistake, imported, made_by

SAY = "give an argument a NamedSharding on the mesh, or pass in_shardings to jax.jit"
_set_mesh = jax.set_mesh


def compiled(
    file: str,
    name: str,
    on: str,
    axes: Mapping[str, int] | None,
    types: Sequence[str],
    devices: Sequence[Any],
    options: Mapping[str, str],
    step: Callable[[str, float], None],
) -> tuple[Any, Any]:
    """Compile the program of `file`; return it and its mesh.

    axes, types: of the mesh that `name` is called with; axes None: it makes its own. devices: of the topology. options:
    of XLA, by name. step: is called with the name of each finished step and its seconds.
    Raises Mistake for a mistake of the user's. Errors of the compiler are passed on, with the program's mesh and
    largest arrays as attributes `mesh` and `largest`.
    """
    folder = Path(file).resolve().parent
    mesh = None if axes is None else _mesh(on, axes, types, devices)
    with on_slice(devices) as meshes:
        began = time.monotonic()
        made = made_by(imported(Path(file), name), name, folder, *([] if mesh is None else [mesh]))
        step("imported", time.monotonic() - began)
        began = time.monotonic()
        with as_mistake(f"{name} cannot be traced", folder), _within([*_needed(made, mesh), *meshes]):
            jaxpr, lowered = _lowered(made)
        step("traced", time.monotonic() - began)
        began = time.monotonic()
        try:
            ready = unwrapped(lowered.compile(dict(options)) if options else lowered.compile())
        except jax.errors.JaxRuntimeError as error:
            # Where the program names no mesh, all devices are one.
            its = _mesh_of(*_asked(made, lowered)) or mesh or (meshes or [Mesh(np.array(devices), "devices")])[-1]
            error.mesh = its  # type: ignore
            error.largest = largest.values(made.arguments, jaxpr, len(devices))  # type: ignore
            raise
        except (ValueError, TypeError, NotImplementedError) as error:
            why = ": ".join(filter(None, (type(error).__name__, str(error).partition("\n")[0])))
            raise Mistake(f"{name} cannot be compiled: {why}") from None
        step("compiled", time.monotonic() - began)
    shardings = _shardings(ready)
    if any(device not in devices for sharding in shardings[:1] for device in sharding.device_set):
        raise Mistake(f"{name} uses devices outside the slice: {SAY}")
    mesh_of_program = _mesh_of(*shardings) or mesh or (meshes or [None])[-1]
    if mesh_of_program is None:
        raise Mistake(f"{name} has no mesh: {SAY}")
    return ready, mesh_of_program


def _mesh(on: str, axes: Mapping[str, int], types: Sequence[str], devices: Sequence[Any]) -> Mesh:
    """Return the mesh that `absent.mesh` makes, with the topology's devices."""
    by_number = {device.id: device for device in devices}
    planned = absent.mesh(on, **axes)
    grid = np.array([by_number[d.id] for d in planned.devices.flat], dtype=object).reshape(planned.devices.shape)
    return Mesh(grid, tuple(axes), axis_types=tuple(AxisType[name] for name in types))


def _within(meshes: list[Any]) -> contextlib.AbstractContextManager[Any]:
    """Set the last mesh that the program has set: its `with` block may have ended."""
    return _set_mesh(meshes[-1]) if meshes else contextlib.nullcontext()


def _needed(made: Made, mesh: Mesh | None) -> list[Mesh]:
    """Return the mesh, in a list, if it has to be set: its axes are Explicit, or no argument has a sharding."""
    if mesh is None:
        return []
    placed = any(
        isinstance(_sharding(leaf), NamedSharding) for leaf in jax.tree.leaves((made.arguments, made.keywords))
    )
    return [] if placed and AxisType.Explicit not in mesh.axis_types else [mesh]


def _sharding(leaf: Any) -> Any:
    return None if isinstance(leaf, jax.Array) else getattr(leaf, "sharding", None)


def _lowered(made: Made) -> tuple[Any, Any]:
    """Return the jaxpr, or None if JAX does not give it, and the lowered program."""
    function: Any = made.function
    if not callable(function) and not hasattr(function, "lower"):
        return None, function  # lowered already
    if not callable(function):
        return function.jaxpr, function.lower()  # traced already
    arguments, keywords = _abstracted(made.arguments), dict(made.keywords or {})
    if not hasattr(function, "trace") and (lower := getattr(function, "lower", None)):  # a library's own jit
        return None, lower(*arguments, **keywords)
    jitted: Any = function if hasattr(function, "trace") else jax.jit(function)
    traced = jitted.trace(*arguments, **keywords)
    return getattr(traced, "jaxpr", None), traced.lower()


def _abstracted(tree: Any) -> Any:
    """Replace arrays on a device of this machine with their shapes.

    A tree without any is returned as it is: a library's object may be in it twice, and would not stay one object.
    """
    return tree if all(_abstract(leaf) is leaf for leaf in jax.tree.leaves(tree)) else jax.tree.map(_abstract, tree)


def _abstract(leaf: Any) -> Any:
    """Return the shape of an array that lies on a device of this machine; anything else as it is."""
    if not (isinstance(leaf, jax.Array) and getattr(leaf, "committed", False)):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.aval.weak_type)


def _mesh_of(*shardings: Any) -> Any:
    """Return the first mesh of these shardings; None if there is none."""
    return next((s.mesh for s in shardings if isinstance(s, NamedSharding) and isinstance(s.mesh, Mesh)), None)


def _asked(made: Made, lowered: Any) -> list[Any]:
    """Return the shardings of a program that does not compile: of its arguments, and those given to its jit."""
    # JAX keeps these in private
    inner = getattr(getattr(lowered, "_lowering", None), "compile_args", None) or {}
    given = [inner.get(name, ()) for name in ("in_shardings", "out_shardings", "intermediate_shardings")]
    return [*map(_sharding, jax.tree.leaves((made.arguments, made.keywords))), *jax.tree.leaves(given)]


def _shardings(ready: Any) -> list[Any]:
    """Return the shardings of arguments and results that the compiled program reports."""
    shardings: list[Any] = []
    for name in ("input_shardings", "output_shardings"):
        with contextlib.suppress(ValueError):  # JAX has none where an argument is a Ref
            shardings += jax.tree.leaves(getattr(ready, name))
    return shardings
