"""Draw the calls of several processes, in order: the n-th call of each meets the n-th calls of the others."""

from collections.abc import Sequence
from typing import Any

from minipod.drawing import graph
from minipod.drawing.phrases import Phrase, alt_text
from minipod.drawing.svg import Picture, text_width

MOST = 12  # calls of a process
_NO_CALL = "no call"


def calls(processes: Sequence[Sequence[str]]) -> Picture:
    """Draw a column of calls for each process, the first on top; a thick line joins calls that meet but differ.

    processes: names of the calls of each process, in order. Raises ValueError for no calls, or over 12 in a process.
    """
    columns = [list(map(str, names)) for names in processes]
    if not any(columns):
        raise ValueError("there is no call to draw: give a list of names for each process")
    rows = max(map(len, columns))
    if rows > MOST:
        raise ValueError(f"{rows} calls of a process cannot be drawn: at most {MOST} can")
    known = list(dict.fromkeys(name for names in columns for name in names))
    width = max(90.0, *(text_width(name, 12, True) + 24 for name in [*known, _NO_CALL]))
    g: Any = graph.graph(rankdir="TB", nodesep="0.9", ranksep="0.14")
    for row in range(-1, rows):  # the first row holds the titles
        names = [f"call_{i}_{row}" for i in range(len(columns))]
        sentences = [f"process {i}" if row < 0 else _name_in_row(column, row) for i, column in enumerate(columns)]
        with g.subgraph(graph_attr={"rank": "same"}) as same:
            for name, text in zip(names, sentences, strict=True):
                look = f"c{known.index(text) % 8} code" if row >= 0 and text in known else "plain"
                graph.node(same, name, text, look, width, 30 if row >= 0 else 24)
            for a, b, x, y in zip(names, names[1:], sentences, sentences[1:], strict=False):
                look = {"style": "invis"} if row < 0 else {"class": "same" if x == y else "wire"}
                same.edge(a, b, dir="none", label="" if row < 0 or x == y else "≠", **look)
        if row >= 0:
            for i, name in enumerate(names):
                g.edge(f"call_{i}_{row - 1}", name, style="invis", weight="10")
    return graph.render(g, alt_text("calls", *_says(columns, rows)))


def _name_in_row(names: list[str], row: int) -> str:
    return names[row] if row < len(names) else _NO_CALL


def _says(columns: list[list[str]], rows: int) -> list[Phrase]:
    keys = ["calls first"] + ["calls"] * len(columns)
    each = [
        [key, i, ", ".join(names) or ["no call"]] for i, (key, names) in enumerate(zip(keys, columns, strict=False))
    ]
    apart = next((row for row in range(rows) if len({_name_in_row(names, row) for names in columns}) > 1), None)
    return [["list", *each], ["alike"] if apart is None else ["part", apart + 1]]
