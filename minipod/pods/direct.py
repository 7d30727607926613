"""Compile the program of a file as JAX does ahead of time: on the devices of a topology, the reader's jit outermost.

It runs in the process that has libtpu (`compile_process`), and in no other: so callbacks, compiler options, layouts,
host memory and kernels are what they would be there, which is more than `jax.export` can write down.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding

from minipod.pods import absent, largest
from minipod.pods.on_slice import on_slice
from minipod.pods.program_file import Made, Mistake, imported, made_by, told

SAY = "give an argument a NamedSharding on the mesh, or jax.jit its in_shardings"
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
    """The compiled program of `file`, and its mesh.

    axes: of the mesh that `name` is called with; None: it makes its own. devices: of the topology. options: XLA's, by
    name. step: is told what was done, and in how many seconds.
    Mistake, in one sentence, for what the reader can mend; what the compiler raises goes through, with an attribute
    `mesh`, the program's, and `largest`: what takes most memory.
    """
    folder = Path(file).resolve().parent
    mesh = None if axes is None else _mesh(on, axes, types, devices)
    with on_slice(devices) as meshes:
        began = time.monotonic()
        made = made_by(imported(Path(file), name), name, folder, *([] if mesh is None else [mesh]))
        step("imported", time.monotonic() - began)
        began = time.monotonic()
        with told(f"{name} cannot be traced", folder), _within([*_needed(made, mesh), *meshes]):
            jaxpr, lowered = _lowered(made)
        step("traced", time.monotonic() - began)
        began = time.monotonic()
        try:
            ready = _unwrapped(lowered.compile(dict(options)) if options else lowered.compile())
        except jax.errors.JaxRuntimeError as error:
            # Nothing has to run, so where nothing says a mesh, its devices are one.
            its = _mesh_of(*_asked(made, lowered)) or mesh or (meshes or [Mesh(np.array(devices), "devices")])[-1]
            error.mesh = its  # type: ignore
            found = largest.values(made.arguments, jaxpr, len(devices))
            error.largest = found  # type: ignore
            raise
        except (ValueError, TypeError, NotImplementedError) as error:
            raise Mistake(f"{name} cannot be compiled: {type(error).__name__}: {str(error).splitlines()[0]}") from None
        step("compiled", time.monotonic() - began)
    shardings = _shardings(ready)
    if any(device not in devices for sharding in shardings[:1] for device in sharding.device_set):
        raise Mistake(f"{name} runs on no device of the slice: {SAY}")
    found = _mesh_of(*shardings) or mesh or (meshes or [None])[-1]
    if found is None:
        raise Mistake(f"{name} has no mesh: {SAY}")
    return ready, found


def _mesh(on: str, axes: Mapping[str, int], types: Sequence[str], devices: Sequence[Any]) -> Mesh:
    """The mesh of `absent.mesh`, of real devices."""
    there = {device.id: device for device in devices}
    place = absent.mesh(on, **axes)
    grid = np.array([there[d.id] for d in place.devices.flat], dtype=object).reshape(place.devices.shape)
    return Mesh(grid, tuple(axes), axis_types=tuple(AxisType[name] for name in types))


def _within(meshes: list[Any]) -> contextlib.AbstractContextManager[Any]:
    """The last mesh that the program has set: its `with` may have ended."""
    return _set_mesh(meshes[-1]) if meshes else contextlib.nullcontext()


def _needed(made: Made, mesh: Mesh | None) -> list[Mesh]:
    """The mesh to set where its axes are Explicit, or no argument says on which devices it lies."""
    if mesh is None:
        return []
    placed = any(
        isinstance(_sharding(leaf), NamedSharding) for leaf in jax.tree.leaves((made.arguments, made.keywords))
    )
    return [] if placed and AxisType.Explicit not in mesh.axis_types else [mesh]


def _sharding(leaf: Any) -> Any:
    return None if isinstance(leaf, jax.Array) else getattr(leaf, "sharding", None)


def _lowered(made: Made) -> tuple[Any, Any]:
    """The jaxpr, None where it is not to be had, and the lowered program."""
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
    """With shapes in place of what lies on a device of this machine. Where nothing does, the tree itself: a library's
    objects may be in it twice, and stay the same ones only so."""
    return tree if all(_abstract(leaf) is leaf for leaf in jax.tree.leaves(tree)) else jax.tree.map(_abstract, tree)


def _abstract(leaf: Any) -> Any:
    """An array that lies on a device of this machine, as the shape that it has."""
    if not (isinstance(leaf, jax.Array) and getattr(leaf, "committed", False)):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.aval.weak_type)


def _unwrapped(compiled: Any) -> Any:
    """JAX's own compiled program in that of a library."""
    while not hasattr(compiled, "memory_analysis"):
        compiled = compiled.compiled
    return compiled


def _mesh_of(*shardings: Any) -> Any:
    """The mesh of a program with these shardings; None where it has none, or lies on devices of this machine."""
    return next((s.mesh for s in shardings if isinstance(s, NamedSharding) and isinstance(s.mesh, Mesh)), None)


def _asked(made: Made, lowered: Any) -> list[Any]:
    """Of a program that does not compile: the shardings of its arguments, and those that its jit was given, which JAX
    keeps to itself."""
    inner = getattr(getattr(lowered, "_lowering", None), "compile_args", None) or {}
    given = [inner.get(name, ()) for name in ("in_shardings", "out_shardings", "intermediate_shardings")]
    return [*map(_sharding, jax.tree.leaves((made.arguments, made.keywords))), *jax.tree.leaves(given)]


def _shardings(ready: Any) -> list[Any]:
    """Of arguments and results, those that the compiled program can tell: not where an argument is a Ref."""
    found: list[Any] = []
    for name in ("input_shardings", "output_shardings"):
        with contextlib.suppress(ValueError):
            found += jax.tree.leaves(getattr(ready, name))
    return found
