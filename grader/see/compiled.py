"""Compile a function, traced with only its arrays, and count what the program sends."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from grader.exercise.spec import Budget, Spec
from grader.see.observation import Traffic, Transfer, Unreadable

MULTIPLIES = re.compile(r"dot_general|conv_general_dilated|ragged_dot")
Compiled = tuple[Callable[..., Any], tuple[Any, ...], Traffic | Unreadable]
Compiler = Callable[[Callable[..., Any], tuple[Any, ...], Budget | None], Compiled]


def budget_of(spec: Spec, args: tuple[Any, ...]) -> Budget | None:
    """Return the exercise's budget for these arguments."""
    budget = spec.budget if isinstance(spec.budget, Budget) or spec.budget is None else spec.budget(*args)
    return replace(budget, work=True) if budget and spec.work else budget


def compiled(function: Callable[..., Any], args: tuple[Any, ...], budget: Budget | None) -> Compiled:
    """Compile a function once; return the executable, its arguments, and its traffic."""
    program, arrays = of_arrays(function, args)
    executable, figures = counted(program, arrays, args, budget)
    return executable, tuple(arrays), figures


def counted(
    program: Callable[..., Any], arrays: list[Any], args: tuple[Any, ...], budget: Budget | None
) -> tuple[Any, Traffic | Unreadable]:
    """Compile a program of these arrays; return it and its traffic. args: the exercise's; a mesh names axes."""
    import jax

    executable = jax.jit(program).lower(*arrays).compile()
    mesh = next((a for a in args if isinstance(a, jax.sharding.Mesh)), None)
    figures = traffic_in(executable.as_text() or "", mesh, budget)
    if budget and budget.temporary is not None and isinstance(figures, Traffic):
        memory: Any = executable.memory_analysis()
        figures = replace(figures, temporary=int(memory.temp_size_in_bytes))
    return executable, figures


def work_of(function: Callable[..., Any], args: tuple[Any, ...]) -> Traffic | None:
    """Return the FLOPs of a device's products in a function that was called; None if it cannot be traced or run.

    Its operations run one after another, and each program among them is compiled for the arrays that it gets.
    """
    import jax

    program, arrays = of_arrays(function, args)
    try:
        closed = jax.make_jaxpr(program)(*arrays)
        return Traffic((), None, flops=_step_by_step(closed, jax.tree.leaves(arrays)))
    except Exception:
        return None


def _step_by_step(closed: Any, leaves: list[Any]) -> int:
    """Run a traced function's operations; return the FLOPs of a device's products. Raises ValueError if unknown."""
    import jax
    from jax.extend.core import Literal, jaxpr_as_fun

    jaxpr, flops = closed.jaxpr, 0
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *leaves), strict=True))
    for step in jaxpr.eqns:
        given = dict.fromkeys(v for v in step.invars if not isinstance(v, Literal))
        alone = jaxpr.replace(eqns=[step], constvars=[], invars=[*given], outvars=step.outvars, debug_info=None)
        run = jaxpr_as_fun(closed.replace(jaxpr=alone, consts=[]))
        values = [known[v] for v in given]
        if MULTIPLIES.search(str(step)):
            run = jax.jit(run).lower(*values).compile()
            count, _ = _work(run.as_text() or "")
            if count is None:
                raise ValueError("a loop runs an unknown number of times")
            flops += count
        known |= zip(step.outvars, run(*values), strict=True)
    return flops


def is_data(arg: Any) -> bool:
    """Return whether an argument consists only of arrays, so that it can be traced."""
    import jax
    import numpy as np

    leaves = [] if isinstance(arg, Iterator) else jax.tree.leaves(arg)
    return bool(leaves) and all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves)


def of_arrays(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[..., Any], list[Any]]:
    """Return a function of only the array arguments, which can be traced, and these arguments."""
    places = places_of(args)

    def program(*arrays: Any) -> Any:
        full = list(args)
        for i, array in zip(places, arrays, strict=True):
            full[i] = array
        return function(*full)

    return program, [args[i] for i in places]


def places_of(args: tuple[Any, ...]) -> list[int]:
    """Return the positions of the arguments that are arrays, or trees of nothing else."""
    return [i for i, arg in enumerate(args) if is_data(arg)]


def traffic_in(text: str, mesh: Any = None, budget: Budget | None = None) -> Traffic | Unreadable:
    """Return the traffic in a compiled program's text, or why it is unknown. budget: says what else to count."""
    from minipod import traffic
    from minipod.hlo import hiding
    from minipod.hlo import text as hlo

    limit = budget or Budget(set(), 0)
    try:
        collectives = traffic.read(text, mesh if limit.along or limit.on else None)
        known = all(c.times is not None for c in collectives)
        crossing = {axis: [c for c in collectives if c.axes is None or axis in c.axes] for axis in limit.along}
        along = {axis: traffic.total(part) if known else None for axis, part in crossing.items()}
        transfers = tuple(Transfer(c.op, c.bytes, c.times) for c in collectives)
        link = replace(traffic.LINKS[limit.on], latency=0.0, start=0.0) if limit.on else None
        seconds = float(traffic.seconds(collectives, link, mesh)) if link and known else None
        exposed = len(hiding.exposed(hlo.parse(text))) if limit.hidden else None
        total = traffic.total(collectives) if known else None
        flops, moved = _work(text) if limit.work else (None, None)
        return Traffic(transfers, total, along, seconds, exposed=exposed, flops=flops, moved=moved)
    except ValueError as error:
        return Unreadable(str(error)[:300])


def _work(text: str) -> tuple[int | None, int | None]:
    """Return the FLOPs of a device's matrix products, and the bytes that it reads and writes; None: unknown."""
    from minipod.hlo import text as hlo
    from minipod.hlo.work import work

    try:
        found = work(hlo.parse(text))
    except ValueError:
        return None, None
    return sum(found.flops.values()), found.moved
