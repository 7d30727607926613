"""Store the result of a run of several processes, and show their outputs side by side."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

from minipod.tables import Table

_COLUMNS = "display:flex;flex-wrap:wrap;gap:0.75rem;margin:1em 0"
_COLUMN = (
    "flex:1 1 18rem;min-width:min(18rem,100%);box-sizing:border-box;color:inherit;"
    "border:1px solid var(--minipod-line,color-mix(in srgb,currentColor 30%,transparent));border-radius:0.3rem"
)
_TITLE = (
    "margin:0;padding:0.2rem 0.6rem;font-size:0.85em;font-weight:600;"
    "border-bottom:1px solid var(--minipod-line,color-mix(in srgb,currentColor 30%,transparent))"
)
_TEXT = (
    "margin:0;padding:0.5rem 0.6rem;border:0;background:none;color:inherit;"
    "font-size:0.85em;white-space:pre-wrap;overflow-wrap:anywhere"
)


@dataclass(frozen=True)
class Run:
    """The result of a run in several processes.

    outputs  what each process printed
    codes    the exit code of each process, or minus the signal that ended it
    seconds  wall-clock time
    first_failure  the first failure, in one sentence; None if all went well
    exit_code  for a shell: 0, the code of the first process that failed, 128 + its signal, 124 at the limit, else 1
    stacks   the lines at which each process was when it had to be ended; "" if its program had ended or was suspended
    apart    whether several processes computed with JAX and none of them called `jax.distributed.initialize`
    """

    outputs: list[str]
    codes: list[int]
    seconds: float
    first_failure: str | None = None
    exit_code: int = 0
    stacks: list[str] = field(default_factory=list)
    apart: bool = False

    @property
    def ok(self) -> bool:
        """Return whether nothing failed: every program ended with exit code 0, even if JAX then hung."""
        return self.first_failure is None

    def printed(self) -> str:
        """Return the outputs of the processes, one after the other, each line prefixed with its process: `[0] …`."""
        return in_turn(self.outputs)

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.printed(), self.first_failure)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = side_by_side(self.outputs)
        if self.first_failure:
            sentence = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(self.first_failure))
            columns += f'<p class="minipod failure">{sentence}</p>'
        return columns

    def where(self) -> "Where":
        """Return a side-by-side view of where the processes were when they had to be ended."""
        return Where([stack or "(no stack: its program had ended or was suspended)" for stack in self.stacks])


@dataclass(frozen=True)
class Where:
    """The lines at which each process was, outermost first."""

    stacks: list[str]

    def __str__(self) -> str:
        return in_turn(self.stacks)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return side_by_side(self.stacks)


def summary(runs: Mapping[str, Run]) -> Table:
    """Return a table with a row for each run: its name, its seconds, and its first failure."""
    rows = tuple((name, f"{run.seconds:.0f}", run.first_failure or "nothing") for name, run in runs.items())
    return Table(("program", "seconds", "first failure"), rows, left=(0, 2), kind="runs")


def in_turn(texts: list[str]) -> str:
    """Join the texts of the processes, each line prefixed with its process: `[0] …`."""
    return "\n".join(f"[{i}] {line}" for i, text in enumerate(texts) for line in text.splitlines())


def side_by_side(texts: list[str]) -> str:
    """Return HTML, without a script, with a section per process: side by side if there is room, else stacked."""
    sections = "".join(
        f'<section style="{_COLUMN}"><p class="title" style="{_TITLE}">process {i}</p>'
        f'<pre tabindex="0" style="{_TEXT}">{escape(text.rstrip())}</pre></section>'
        for i, text in enumerate(texts)
    )
    return f'<div class="minipod processes" style="{_COLUMNS}">{sections}</div>'
