"""Find arguments that a wrong answer's result does not depend on: draw each one again, alone, and call the answer.

The report states an observation: the answer's result stayed the same, bit by bit, in every case and draw, whereas the
solution's result changed each time by more than rounding.
"""

import contextlib
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from grader.exercise.spec import Settings, Spec
from grader.judge.compare import difference
from grader.see import observe, redrawn
from grader.see.array_values import arrays_in
from grader.see.compiled import is_data, of_arrays
from grader.see.observe import Target
from grader.see.packing import pack
from grader.see.values import Value
from grader.see.wire import Malformed, decode, encode
from minipod import forked

Args = redrawn.Args
Call = Callable[[Args, int | None], Any]  # of the arguments, and of which of them is another than before
WAITED = 1.0  # seconds for an experiment, beside twice those that the answer took
FURTHER, STEP = 12, 7919  # seeds whose inputs are drawn from, too; so far apart that neighbouring runs share none
SECONDS = 0.8  # of CPU time for the calls of the answer; as much for those of the oracle, which needs far less


def unmoved(
    spec: Spec, settings: Settings, names: Sequence[str], solution: Target, answer: Target, seconds: float
) -> tuple[str, ...]:
    """Return the names of arguments whose change does not change the answer's result but changes the solution's.

    names    of the arguments
    seconds  time that the answer took on all cases; if an experiment takes much longer, the result is empty
    """
    limit = min(settings.limit, WAITED + 2 * seconds)
    left = _seen(spec, limit, settings.memory, partial(stays, spec, settings.seed, answer, names))
    if not left:
        return ()
    return _seen(spec, limit, settings.memory, partial(moves, spec, settings.seed, solution, names, left))


def _seen(spec: Spec, limit: float, memory: float, experiment: Callable[[], Sequence[str]]) -> tuple[str, ...]:
    (result,) = forked.run(lambda: encode(experiment()), 1, spec.devices, limit, memory)
    with contextlib.suppress(Malformed):
        return decode(tuple[str, ...], result.value) if result.status == "ok" else ()
    return ()


def stays(spec: Spec, seed: int, answer: Target, names: Sequence[str]) -> tuple[str, ...]:
    """In a child: return the places that were drawn again in each case without any change in the answer's result."""
    drawn = observe.draw(spec, seed)
    function = getattr(observe.load(answer.path, answer.source), spec.name)
    return _left(drawn, seed, names, None, lambda args: _called(function, args, spec), lambda new, old: new == old)


def moves(spec: Spec, seed: int, solution: Target, names: Sequence[str], among: Sequence[str]) -> tuple[str, ...]:
    """In a child: return those places with which the right result changes each time, by more than rounding.

    The right result is the oracle's, which has more digits than the solution's; without an oracle, the solution's.
    """
    drawn = spec, _ = observe.draw(spec, seed)
    function = spec.oracle or getattr(observe.load(solution.path), spec.name)
    once = replace(spec, how="call") if spec.oracle else spec
    return _left(
        drawn,
        seed,
        names,
        among,
        lambda args: _called(function, args, once),
        lambda new, old: difference(new, old, spec.tolerance) is not None,
    )


def _left(
    drawn: tuple[Spec, list[Args]],
    seed: int,
    names: Sequence[str],
    among: Sequence[str] | None,
    calls: Callable[[Args], Call],
    holds: Callable[[Value, Value], bool],
) -> tuple[str, ...]:
    """Return the places for which `holds` is true of new and old result in every case and draw; none if too slow."""
    spec, cases = drawn
    left = {name: place for name, place in redrawn.places(names, cases).items() if among is None or name in among}
    further = [seed + STEP * (i + 1) for i in range(FURTHER)] if redrawn.are_plain(cases) else []
    every = [*cases, *(args for one in further for args in observe.draw(spec, one)[1])]
    until = time.process_time() + SECONDS
    with contextlib.redirect_stdout(io.StringIO()):
        for n, args in enumerate(cases):
            if not left:
                break
            call = calls(args)
            before = pack(call(redrawn.copied(args), None))
            if _says_nothing(before):
                return ()
            for name, place in list(left.items()):
                for draw in range(redrawn.DRAWS):
                    if time.process_time() > until:
                        return ()
                    with contextlib.suppress(Exception):
                        changed = redrawn.redrawn(args, place, draw, (n, name), [x[place[0]] for x in every])
                        if changed and holds(pack(call(changed, place[0])), before):
                            continue
                    del left[name]
                    break
    return _widest(left)


def _called(function: Callable[..., Any], args: Args, spec: Spec) -> Call:
    """Return the function of all its arguments; if the exercise compiles it, it is compiled once for all draws."""
    import jax

    if spec.how != "jit":
        return lambda changed, _: function(*changed)
    traced = [i for i, arg in enumerate(args) if is_data(arg) or type(arg) is float]

    def program(*some: Any) -> Any:  # by this name the compilation cache has it already
        full = dict(enumerate(args)) | dict(zip(traced, some, strict=True))
        return function(*full.values())

    once = jax.jit(program)

    def call(changed: Args, place: int | None) -> Any:
        if place is None or place in traced:
            with contextlib.suppress(Exception):  # a number that has to be one while it is traced
                return once(*(changed[i] for i in traced))
        alone, arrays = of_arrays(function, changed)
        return jax.jit(alone)(*arrays)

    return call


def _says_nothing(value: Value) -> bool:
    """Return whether no number of a result is finite, so that nothing can change it."""
    numbers = [whole for x in arrays_in(value) if x.has_numbers and not x.partial and (whole := x.whole()) is not None]
    return bool(numbers) and all(x.dtype.kind == "f" and not np.isfinite(x).any() for x in numbers)


def _widest(left: dict[str, redrawn.Place]) -> tuple[str, ...]:
    """Drop the entries of a dict that is itself among the places."""
    whole = {i for i, key in left.values() if key is None}
    return tuple(name for name, (i, key) in left.items() if key is None or i not in whole)
