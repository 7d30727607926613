"""Make plans: one, or one for each of several meshes, several at once."""

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
from minipod.pods.facts import facts
from minipod.pods.plan import Plan, plan
from minipod.pods.slices import slice_of

_warm: list[Child] = []  # the compilers of `warm`, the innermost block's last
Program = Callable[[Any], tuple[Callable[..., Any], Sequence[Any]]]


def compile(function: Callable[..., Any], *arguments: Any) -> Plan:
    """Compile `function`, jitted or not, for the slice on whose mesh the arguments lie; nothing runs.

    arguments: as the function wants them, each array a `jax.ShapeDtypeStruct` with a NamedSharding on one
        `minipod.pods.mesh`. Arguments that the jitted function donates count once.
    Where libtpu is missing, the plan that was recorded beside the function's file is returned; `recorded` says so.

    ValueError for an argument without a sharding or on another mesh; RuntimeError, in one sentence, where the compiler
    refuses the program or dies of it; `Missing` (an OSError) without libtpu and recording; `Stale` for a recording of
    another program. What does not fit is no error: `plan.fits` is False.
    """
    traced = trace(function, *arguments)
    platform = traced.on.generation.platform
    return make(traced, child=next((child for child in reversed(_warm) if child.platform == platform), None))


@contextlib.contextmanager
def warm(platform: str = "tpu") -> Iterator[None]:
    """In this block `compile` uses one compiler, which starts once: for the same program at many batch sizes.

    platform: "tpu" or "cuda"; a program for the other one still gets a compiler of its own. The compiler ends with the
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
    """The plan of a program that is traced already. folder: where recordings are (default: beside its file).

    child: which compiles it; without one a new one does, and ends.
    """
    folder = folder or (traced.source.parent if traced.source else None)
    try:
        found, text = compiled(traced, child)
    except Missing:
        entry = recorded.find(traced, folder)
        return plan(traced.name, str(traced.on), traced.mesh, entry["facts"], entry["versions"], True, None)
    return plan(traced.name, str(traced.on), traced.mesh, found, versions(traced.on.generation.platform), False, text)


def compiled(traced: Traced, child: Child | None = None) -> tuple[dict[str, Any], str | None]:
    """What the compiler says, as `facts`, and the program's text. Missing without libtpu."""
    if child is None:
        with Child(traced.on.generation.platform) as own:
            return compiled(traced, own)
    answer: dict[str, Any] = child.ask(traced) | {"devices": [device.id for device in traced.mesh.devices.flat]}
    if "full" in answer:
        answer |= largest.values(traced.leaves, traced.jaxpr, traced.mesh.size)
    return facts(answer, traced.on, traced.mesh), answer.get("text")


def layouts(on: str, *axes: str) -> list[dict[str, int]]:
    """Every way to lay mesh axes of these names on a slice's torus, each taking whole axes of it.

    `[{"data": 16, "model": 1}, {"data": 4, …}, …]`. Of several slices the first axes go over them, in every way too.
    """
    found = slice_of(on)
    if found.generation.platform == "cuda":
        return [dict(zip(axes, sizes, strict=True)) for sizes in _sizes(found.devices, len(axes))]
    inside = torus.layouts(found.shape, found.generation.devices, axes)
    ways = (
        ({axis: n * over for (axis, n), over in zip(each.items(), sizes, strict=True)}, sizes)
        for each in inside
        for sizes in _sizes(found.count, len(axes))
    )
    return [each for each, sizes in ways if crossing(found, each) == sizes]


def _sizes(whole: int, count: int) -> list[list[int]]:
    """Every way to write `whole` as a product of so many sizes, the first largest first."""
    if count == 0:
        return [[]] if whole == 1 else []
    firsts = [n for n in range(whole, 0, -1) if whole % n == 0]
    return [[n, *rest] for n in firsts for rest in _sizes(whole // n, count - 1)]


def search(program: Program, on: str, meshes: Sequence[Mapping[str, int]], at_once: int | None = None) -> list[Plan]:
    """A plan of `program` on each of several meshes of a slice, in that order.

    program: takes a mesh and returns (function, arguments). at_once: how many are compiled at the same time (default:
    as many as this machine has cores, at most 4; each takes about half a GiB).
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
