"""Make plans: for one mesh, or for several meshes, a few at a time."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from minipod import torus
from minipod.pods import largest, recorded
from minipod.pods.absent import crossing, mesh
from minipod.pods.compiler import Child, Missing, Traced, trace, versions
from minipod.pods.facts import facts as facts_of
from minipod.pods.plan import Plan, plan
from minipod.pods.slices import slice_of

_warm: list[Child] = []  # the compilers of `warm`, the innermost block's last
Program = Callable[[Any], tuple[Callable[..., Any], Sequence[Any]]]


def compile(function: Callable[..., Any], *arguments: Any) -> Plan:
    """Compile `function`, jitted or not, for the slice of its arguments' mesh, without running it.

    arguments: those of the function, with a `jax.ShapeDtypeStruct` in place of each array; at least one has a
        NamedSharding on a `minipod.pods.mesh`. A donated argument and the result in its place count as memory once.

    Without libtpu, returns a plan recorded in the folder of the function's file, if any: `plan.recorded` is True.

    Raises ValueError if no argument has a sharding on a mesh of a slice, two lie on different meshes, or one has a
    different memory layout (`jax.experimental.layout.Format`) than the jit asks for; RuntimeError if the compiler
    refuses the program or dies; TimeoutError after 300 s; `Missing`, an OSError, if there is neither libtpu nor a
    recording; `Stale`, a RuntimeError, if the recording was made for a different program. A program that does not fit
    is not an error: `plan.fits` is False.
    """
    traced = trace(function, *arguments)
    platform = traced.on.generation.platform
    return make(traced, child=next((child for child in reversed(_warm) if child.platform == platform), None))


@contextlib.contextmanager
def warm(platform: str = "tpu") -> Iterator[None]:
    """Let `compile` use a single compiler, started once, in this block: useful for one program at many batch sizes.

    platform: "tpu" or "cuda"; a program for the other platform still gets its own compiler. The compiler ends with the
    block, or with the first program that kills it: then every further `compile` of the block raises.
    """
    try:
        child = Child(platform)
    except Missing:
        yield  # what is recorded needs none
        return
    with child:
        _warm.append(child)
        try:
            yield
        finally:
            _warm.remove(child)


def make(traced: Traced, folder: Path | None = None, child: Child | None = None) -> Plan:
    """Plan a traced program. folder: where its recordings are (default: the folder of its file).

    child: the compiler to use; by default a new one for this program only.
    """
    folder = folder or (traced.source.parent if traced.source else None)
    try:
        facts, text = compiled(traced, child)
    except Missing:
        entry = recorded.find(traced, folder)
        return plan(traced.name, str(traced.on), traced.mesh, entry["facts"], entry["versions"], recorded=True)
    used = versions(traced.on.generation.platform)
    return plan(traced.name, str(traced.on), traced.mesh, facts, used, text=text)


def compiled(traced: Traced, child: Child | None = None) -> tuple[dict[str, Any], str | None]:
    """Compile a traced program; return its `facts.facts` and its text. Raises Missing without libtpu."""
    if child is None:
        with Child(traced.on.generation.platform) as new:
            return compiled(traced, new)
    answer: dict[str, Any] = child.ask(traced) | {"devices": [device.id for device in traced.mesh.devices.flat]}
    if "full" in answer:
        answer |= largest.values(traced.leaves, traced.jaxpr, traced.mesh.size)
    return facts_of(answer, traced.on, traced.mesh), answer.get("text")


def layouts(on: str, *axes: str) -> list[dict[str, int]]:
    """Return all meshes with these axis names in which each takes whole axes of a slice's torus, as dicts of sizes.

    They are sorted by the size of the first axis, the largest first: `[{"data": 16, "model": 1}, {"data": 4, …}, …]`.
    If `on` is several slices, the first axes cross slices. A host with GPUs has no torus, so all sizes are possible.
    """
    slice_ = slice_of(on)
    if slice_.generation.platform == "cuda":
        return [dict(zip(axes, sizes, strict=True)) for sizes in _sizes(slice_.devices, len(axes))]
    layouts = []
    for inside in torus.layouts(slice_.shape, slice_.generation.devices, axes):
        for over in _sizes(slice_.count, len(axes)):
            sizes = {axis: inside[axis] * n for axis, n in zip(axes, over, strict=True)}
            if crossing(slice_, sizes) == over:
                layouts.append(sizes)
    return layouts


def _sizes(whole: int, count: int) -> list[list[int]]:
    """Return all lists of `count` sizes whose product is `whole`, in descending order."""
    if count == 0:
        return [[]] if whole == 1 else []
    firsts = [n for n in range(whole, 0, -1) if whole % n == 0]
    return [[n, *rest] for n in firsts for rest in _sizes(whole // n, count - 1)]


def search(program: Program, on: str, meshes: Sequence[Mapping[str, int]], at_once: int | None = None) -> list[Plan]:
    """Plan `program` for each of several meshes of a slice, in the order given.

    program: takes a mesh and returns (function, arguments). meshes: dicts of axis name → size. at_once: how many
    programs are compiled at the same time (default: one per core of this machine, at most 4; each takes about half a
    GiB).
    Raises the same errors as `compile`.
    """
    traced = []
    for axes in meshes:
        function, arguments = program(mesh(on, **axes))
        traced.append(trace(function, *arguments))
    count = min(at_once or min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2), len(traced))
    idle: SimpleQueue[Child] = SimpleQueue()
    with ExitStack() as stack:
        try:
            for _ in range(count):
                idle.put(stack.enter_context(Child(slice_of(on).generation.platform)))
        except Missing:
            return [make(each) for each in traced]

        def one(each: Traced) -> Plan:
            child = idle.get()
            try:
                return make(each, child=child)
            finally:
                idle.put(child)

        with ThreadPoolExecutor(max(count, 1)) as pool:
            return list(pool.map(one, traced))
