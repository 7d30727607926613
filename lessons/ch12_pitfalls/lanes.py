"""A run in lanes: what each process printed, and the line it then waits in."""

import re

from minipod.cluster import Run
from minipod.pictures import Timeline

WAIT = 2  # ticks that a wait is drawn for: nobody knows how long it would be


def lanes(done: Run) -> Timeline:
    """A lane for each process, a tick for each line that it printed; at its end
    the line of the program in which it waits, or that it is at its end."""
    names = [f"process {i}" for i in range(len(done.outputs))]
    printed = [text.splitlines() for text in done.outputs]
    line, last = Timeline(names), max(map(len, printed))
    for tick in range(last):
        said = []
        for i, lines in enumerate(printed):
            if tick < len(lines):
                short = lines[tick].partition(" [")[0]
                line.span(i, tick, tick + 1, short, tick)
                said.append(["prints", ["word", names[i]], lines[tick]])
        line.step(tick + 1, ["colon", ["output", tick + 1], ["list", *said]])
    said = []
    for i, lines in enumerate(printed):
        place, end = _waits(done.stacks[i]), last + WAIT
        words = f"waits in line {place[0]}" if place else "at its end"
        line.span(i, len(lines), end, words, None, open=bool(place))
        key = ["waits in line", ["word", names[i]], *place]
        said.append(key if place else ["at its end", ["word", names[i]]])
    line.step(last + WAIT, ["colon", ["then"], ["list", *said]])
    return line


def _waits(stack: str) -> tuple[str, ...]:
    """The innermost line of the program in a stack, and what it says."""
    found = re.findall(r"^\w+\.py:(\d+) (.+)$", stack, re.M)
    return found[-1] if found else ()
