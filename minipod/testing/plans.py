"""Compare what a program sends, holds and computes with a committed file: the fixture `plans`."""

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from minipod.pods import Plan

__all__ = ["Plans"]
OPTION = "--update-plans"

Figures = dict[str, int | float | bool]


class Plans:
    """The fixture `plans`: a JSON file with figures of programs, by name and by the versions that compiled them.

    The file is `plans/NAME.json` next to the test file NAME.py. `pytest --update-plans` writes the figures to this
    file; without that option, the figures are compared with the file.
    """

    def __init__(self, path: Path, update: bool, writes: bool = True) -> None:
        self.path, self.update, self.writes = path, update, writes  # of several processes one writes

    def check(self, name: str, program: "Callable[..., Any] | Plan", *args: Any, within: float = 0.0) -> None:
        """Fail unless the figures of `program`, compiled for `args`, are those that the file has for `name`.

        program  a function, compiled here for `args` (arrays, NumPy arrays or ShapeDtypeStructs with shardings) and
                 not run; or a plan that `minipod.pods.compile` has made
        within   the fraction by which a figure may differ: 0.05 for 5 %

        The figures are for one device: bytes sent, by collective (a plan's by mesh axis), bytes of arguments and
        temporaries, FLOPs by element type. Raises ValueError if the file holds no plans, or `within` is not a fraction.
        """
        __tracebackhide__ = True
        if not 0 <= within < 1:
            raise ValueError(f"within must be at least 0 and less than 1, not {within}")
        from minipod.pods import Plan

        figures, versions = _of_plan(program) if isinstance(program, Plan) else _compiled_here(program, args)
        if self.update:
            if self.writes:
                self._add(name, versions, figures)
            return
        committed = self._read().get(name, {})
        if versions not in committed:
            others = f" (only with {'; '.join(sorted(committed))})" if committed else ""
            pytest.fail(f"{self._shown()} has no figures for {name!r} with {versions}{others}: run pytest {OPTION}")
        if wrong := _different(committed[versions], figures, within):
            pytest.fail(f"{name!r} differs from {self._shown()} ({versions}):\n" + "\n".join(wrong))

    def _read(self) -> dict[str, dict[str, Figures]]:
        try:
            known = json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}
            for of in known.values():
                for figures in of.values():
                    figures.items()
        except (ValueError, AttributeError):
            raise ValueError(
                f"{self._shown()} cannot be read as plans: restore it from version control, or delete it and run "
                f"pytest {OPTION}"
            ) from None
        return known

    def _add(self, name: str, versions: str, figures: Figures) -> None:
        """Write a program's figures into the file: whole or not at all, and one process at a time (pytest-xdist)."""
        self.path.parent.mkdir(exist_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            known = self._read()
            known.setdefault(name, {})[versions] = figures
            new.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
            new.replace(self.path)
        finally:
            new.unlink(missing_ok=True)
            os.close(folder)

    def _shown(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"


def _compiled_here(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Figures, str]:
    import jax

    from minipod import traffic
    from minipod.hlo import text
    from minipod.hlo.compiled import compiled
    from minipod.hlo.work import work

    ready = compiled(function, args)
    program, memory = ready.as_text() or "", ready.memory_analysis()
    by_op = defaultdict[str, list[Any]](list)
    for collective in traffic.read(program):
        by_op[collective.op].append(collective)
    figures: Figures = {f"sent by {op}": traffic.total(collectives) for op, collectives in by_op.items()}
    figures |= {"arguments": memory.argument_size_in_bytes, "temporaries": memory.temp_size_in_bytes}
    figures |= {f"FLOPs, {kind}": count for kind, count in work(text.parse(program)).flops.items()}
    return figures, f"jax {jax.__version__}, {jax.default_backend()}"


def _of_plan(plan: "Plan") -> tuple[Figures, str]:
    figures: Figures = {"fits": plan.fits}
    figures |= {f"sent along {axis}": n for axis, n in (plan.sent or {}).items()}
    figures |= {key: n for key, n in plan.memory.items() if n is not None and key in ("arguments", "temporaries")}
    figures |= {f"FLOPs, {kind}": count for kind, count in (plan.flops or {}).items()}
    return figures, ", ".join(f"{name} {number}" for name, number in plan.versions.items()) + f", {plan.on}"


def _different(committed: Figures, figures: Figures, within: float) -> list[str]:
    """Return a line for each figure that differs, with the old and the new value."""
    wrong: list[str] = []
    for name in [*committed, *(name for name in figures if name not in committed)]:
        was, now = committed.get(name, 0), figures.get(name, 0)
        if abs(now - was) > within * was:
            share = f"{now / was:.3g}" if was and now else "1"
            times = "" if share == "1" else f", {share} times as much"
            wrong.append(f"  {name}: {_written(was)} → {_written(now)}{times}")
    return wrong


def _written(figure: int | float | bool) -> str:
    return str(figure) if isinstance(figure, bool) else f"{figure:,}"
