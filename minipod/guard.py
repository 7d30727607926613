"""Find the call at which the processes of a cluster diverge, before it hangs or gives a wrong result.

    step = watched(step)  # in every process, around each function that communicates

Before each call, every process leaves a note with the coordinator: the number of the call, the name of the function,
the shapes, dtypes and shardings of its arguments, and, for a function made by `jax.jit`, a hash of the lowered program.
The call begins when all notes agree. OutOfStep is raised if the notes differ or one is missing. Notes do not use
collectives, which would hang or be mistaken for those of the program.

Calls that are not watched are not compared: a sum inside a print, for example, or the programs that a plain function
calls. The processes wait for each other at each watched call, so none is ever more than one call ahead. Each call also
takes the time that the coordinator needs to answer.

    >>> from pathlib import Path
    >>> from minipod import cluster
    >>> length = Path("apart.py").write_text('''
    ... import jax
    ... from minipod.cluster import launch_arguments
    ... from minipod.guard import OutOfStep, watched
    ... jax.distributed.initialize(**launch_arguments())
    ... step = watched(lambda x: x, name="step")
    ... try:
    ...     step(jax.numpy.ones(3 + jax.process_index()))
    ... except OutOfStep:
    ...     print("these calls differ")
    ... ''')
    >>> cluster.run("apart.py", processes=2, devices=1).outputs
    ['these calls differ\\n', 'these calls differ\\n']
"""

import atexit
import functools
import hashlib
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from minipod.cluster import coordinator_store

__all__ = ["OutOfStep", "fingerprint", "meet", "watched"]

Function = TypeVar("Function", bound=Callable[..., Any])
_TURN = 0.2  # seconds between two looks at whether a missing process has finished
_GLANCE, _ANSWER = 0.05, 5.0  # seconds that the coordinator has to answer: in between, and for the message
_calls = itertools.count(1)
_GONE = ("has finished", "has ended with ")  # how the last notes of a process begin


class OutOfStep(RuntimeError):
    """Raised if processes make different calls, or one makes none in time; the message names them."""


def watched(function: Function, name: str | None = None, seconds: float = 10.0) -> Function:
    """Wrap `function` so that all processes compare each call before it begins.

    name     the purpose of the call, if a function has several uses: `watched(total, "total of w1")(xs)`
    seconds  how long to wait for the other processes

    The calls of all watched functions are counted together. In a single process, nothing is compared. The wrapped
    function raises OutOfStep if the calls differ or another process does not make one within `seconds`.

    For a function made by `jax.jit`, the lowered program is compared, too, which detects different static arguments. A
    plain function that calls jitted functions has no lowered program: watch the jitted functions.
    """
    name = name or getattr(function, "__name__", repr(function))
    known: dict[Any, str] = {}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if jax.process_count() > 1 and coordinator_store.is_known():
            what = f"{name}({fingerprint(args, kwargs)})"
            program = _program(function, args, kwargs, what, known)
            turn, programs = _meet(what, f"{program} {_values(args, kwargs)}", seconds)
            if len({text.partition(" ")[0] for text in programs}) > 1:
                who = "; ".join(f"process {i} runs program {text.rstrip()}" for i, text in enumerate(programs))
                raise OutOfStep(f"call {turn}, {what}, runs different programs: {who}")
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def fingerprint(args: tuple, kwargs: dict[str, Any]) -> str:
    """Describe what must be equal everywhere: an array's type, `float32[8@i,16]`; a number's type; a whole string."""
    leaves = jax.tree_util.tree_leaves_with_path((args, kwargs))
    return ", ".join(_key(path) + _leaf(leaf) for path, leaf in leaves)


def _key(path: tuple) -> str:
    """Return `w=` for a part of a tree, nothing for a plain argument."""
    rest = path[1:] if path[0].idx == 1 else path[2:]
    return f"{jax.tree_util.keystr(rest, simple=True, separator='.')}=" if rest else ""


def _leaf(leaf: Any) -> str:
    if isinstance(leaf, jax.Array | np.ndarray):
        text = str(jax.typeof(leaf))  # on Explicit axes it says how the array lies
        spec = getattr(getattr(leaf, "sharding", None), "spec", None)
        return text if "@" in text or not spec else f"{text} by {spec}"
    return repr(leaf) if isinstance(leaf, str | bytes) else type(leaf).__name__


def _values(args: tuple, kwargs: dict[str, Any]) -> str:
    """Return `with 4, relu`: the arguments of which a fingerprint has only the type, that is, no arrays or texts."""
    leaves = [x for x in jax.tree.leaves((args, kwargs)) if not isinstance(x, jax.Array | np.ndarray | str | bytes)]
    return " ".join(f"with {', '.join(map(str, leaves))}".split()) if leaves else ""


def _program(function: Any, args: tuple, kwargs: dict[str, Any], what: str, known: dict[Any, str]) -> str:
    """Hash the program that the call runs; "" for a function without jax.jit. known: hashes by what was traced."""
    if not isinstance(function, jax.stages.Wrapped):
        return ""
    traced = function.trace(*args, **kwargs)  # again for the same arguments: jit's own cache has it
    key = traced.jaxpr, what
    if key not in known:
        known[key] = hashlib.sha256(traced.lower().as_text().encode()).hexdigest()[:8]
    return known[key]


def meet(what: str, more: str = "", seconds: float = 10.0) -> list[str]:
    """Wait until every process makes this call with the same `what`; return the `more` of each, in process order.

    All watched and compared calls of a process are counted together. Raises OutOfStep if another process comes with a
    different `what`, or makes no call within `seconds`; RuntimeError before `jax.distributed.initialize`.
    """
    return _meet(what, more, seconds)[1]


def _meet(what: str, more: str, seconds: float) -> tuple[int, list[str]]:
    turn, me, everyone = next(_calls), jax.process_index(), range(jax.process_count())
    what = " ".join(what.split())
    if turn == 1:
        atexit.register(_leave, me)
    coordinator_store.put(f"guard/last/{me}", f"was last at call {turn}, {what}")
    coordinator_store.put(f"guard/{turn}/{me}", f"{what}\n{more}")
    notes = [f"{what}\n{more}" if i == me else _note(turn, i, what, seconds) for i in everyone]
    if turn > 1:
        coordinator_store.drop(f"guard/{turn - 1}/{me}")  # all have been there, or they could not be here
    calls = [note.partition("\n")[0] for note in notes]
    if any(call != what for call in calls):
        who = "; ".join(f"process {i} calls {call}" for i, call in enumerate(calls))
        raise OutOfStep(f"call {turn}: {who}")
    return turn, [note.partition("\n")[2] for note in notes]


def _note(turn: int, other: int, mine: str, seconds: float) -> str:
    end = time.monotonic() + seconds
    while True:
        try:
            return coordinator_store.get(f"guard/{turn}/{other}", min(_TURN, seconds))
        except TimeoutError:
            over = time.monotonic() > end
            last = _last(other, _ANSWER if over else _GLANCE)
            gone = last.startswith(_GONE)
            if gone or over:
                late = "" if gone else f" within {seconds:g} s"
                message = f"call {turn}, {mine}: process {other} did not arrive{late}; it {last}"
                raise OutOfStep(message) from None


def _leave(me: int) -> None:
    """Note that this process ends and, if an error ended it, which one."""
    kind = getattr(sys, "last_type", None)
    coordinator_store.put(f"guard/last/{me}", f"{_GONE[1]}{kind.__name__}" if kind else _GONE[0])


def _last(other: int, seconds: float) -> str:
    try:
        return coordinator_store.get(f"guard/last/{other}", seconds)
    except TimeoutError:
        return "has not called any watched function"
