"""What compilers decided, as the pages print it: each table says of which compiler it is, and where the order of its
rows explains something, the TPU's compile, as recorded, has the same order, or both stand on the page.

compiled_tables.toml lists all of them. An order that differs has to name, as `differs`, the section in which the TPU's
rows stand (in the output of the cell `shown`), and the sentences there explain only what both show."""

import json
import re
import tomllib
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minipod import traffic
from minipod.pods.recorded import plans
from publish.page import ROOT, demo_cells

LIST = tomllib.loads(Path(__file__).with_name("compiled_tables.toml").read_text("utf-8"))
for each in LIST["order"]:
    each.setdefault("recorded", f"lessons/{each['page']}/on_tpu.txt")
    if isinstance(each["rows"], list):  # called the same where they are recorded
        each["rows"] = {row: row for row in each["rows"]}
COUNTS = re.compile(
    r"memory_analysis|cost_analysis|traffic\.(table|of|read|total)|_tpu\.txt|plans\(|on_tpu\(|automatic\(|train_on\("
    r"|bytes_of\(|measure\(|\bshow\(|what_is_sent|bill_of"
)
NUMBER = re.compile(r"(?<![\w.@\[])\d[\d,]*(?:\.\d+)?")


def printed(page: str) -> dict[str, str]:
    found = {}
    for cell in json.loads((ROOT / f"book/outputs/{page}.json").read_text("utf-8"))["cells"]:
        parts = [o.get("text") or o.get("data", {}).get("text/plain") or [] for o in cell["outputs"]]
        found[cell["name"]] = "".join("".join(part) + "\n" for part in parts)
    return found


def numbers(row: str, text: str) -> list[list[float]]:
    """The numbers of each row of that name, and those of the lines indented below it."""
    found: list[list[float]] = []
    mine = False
    for line in text.splitlines():
        after = re.match(re.escape(row) + r"(?![\w\],])", line)
        if after or not line.startswith(" "):
            mine = bool(after)
            if after:
                found.append([])
        if mine:
            rest = line[after.end() :] if after else line
            found[-1] += [float(n.replace(",", "")) for n in NUMBER.findall(rest)]
    return found


def figure(row: str, text: str, number: int | str) -> float:
    """One number of a row; a row that comes again is «name #2». Of a row without any, nothing is sent: 0."""
    name, _, again = row.partition(" #")
    found = [each for each in numbers(name, text) if each] or numbers(name, text)
    assert found, f"no row «{row}»"
    chosen = found[int(again or 1) - 1]
    return float(sum(chosen)) if number == "sum" else chosen[int(number)]


def on_tpu(order: Mapping[str, Any], name: str, cells: Mapping[str, str]) -> float:
    """A figure of the TPU's compile, from the file or the cell in which it is recorded."""
    file, number = order["recorded"], order.get("tpu_number", -1)
    if file in cells:
        return figure(name, cells[file], number)
    if not file.endswith("plans.json"):
        return figure(name, (ROOT / file).read_text("utf-8"), number)
    (plan,) = plans(ROOT / Path(file).parent, name, "v5e:2x4")
    m = plan.memory
    parts = {"held": m["arguments"], "new": m["outputs"] - m["aliased"], "temp": m["temporaries"]}
    bill = plan.collectives or []
    sent = {"sent": traffic.total(bill), "messages": sum(c.times or 0 for c in bill)}
    return float((parts | sent | {"peak": sum(parts.values())})[order["by"]])


def sections(page: str, edition: str) -> dict[str, str]:
    text = (ROOT / f"book/{edition}/{page}.md").read_text("utf-8")
    parts = re.split(r"^\((sec-[\w-]+)\)=$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def stands(value: float, text: str) -> bool:
    forms = [f"{value:,.0f}", f"{value:.0f}", *[f"{value / 1e3:,.0f}"] * (value >= 1e4)]  # a small one is no thousands
    forms += [f"{value / 1e6:,.0f}", f"{value / 1e6:.1f}"] * (value >= 1e5)
    return any(re.search(rf"(?<![\d,.]){re.escape(form)}(?![\d,]*\d)", text) for form in forms)


def wrong(order: Mapping[str, Any], cells: Mapping[str, str], pages: Mapping[str, Mapping[str, str]]) -> list[str]:
    """What is wrong with one order; `cells` is what the page prints, `pages` are its sections in each edition."""
    here, there = {}, {}
    for row, name in order["rows"].items():
        cell, _, line = row.rpartition(" | ")
        here[row] = figure(line, cells[cell or order["cell"]], order.get("number", -1))
        there[row] = on_tpu(order, name, cells)
    others = [
        f"by {order['by']}, «{a}» and «{b}» are {here[a]:,} and {here[b]:,}, on a TPU {there[a]:,} and {there[b]:,}"
        for a, b in combinations(here, 2)
        if np.sign(here[a] - here[b]) != np.sign(there[a] - there[b])
    ]
    if "differs" not in order:
        return others
    if not others:
        return [f"by {order['by']} the order is the same: delete «differs»"]
    shown = cells.get(order["shown"], "")
    found = [f"{row}: the TPU's {n:,} is not in «{order['shown']}»" for row, n in there.items() if not stands(n, shown)]
    for edition, parts in pages.items():
        if f":cell: {order['shown']}\n" not in parts.get(order["differs"], ""):
            found.append(f"{edition}: no cell «{order['shown']}» in {order['differs']}")
        if not {"CPU", "TPU"} <= set(re.findall("[CT]PU", parts.get(order["differs"], ""))):
            found.append(f"{edition}: {order['differs']} does not name both compilers")
    return found


@pytest.mark.parametrize("order", LIST["order"], ids=lambda o: f"{o['page'][:4]} {o['by']} {len(o['rows'])}")
def test_an_order_that_explains_is_the_tpu_s_or_both_stand_on_the_page(order):
    pages = {edition: sections(order["page"], edition) for edition in ("en", "zh-Hans")}
    assert wrong(order, printed(order["page"]), pages) == []


def asked() -> dict[str, list[str]]:
    """Of each page the cells that ask what a compiler made, and print it."""
    demos = {demo.parent.name: demo_cells(demo) for demo in ROOT.glob("lessons/*/demo.py")}
    cells = {page: [cell for cell, code in each.items() if COUNTS.search(code)] for page, each in demos.items()}
    return {page: [cell for cell in names if printed(page)[cell]] for page, names in cells.items() if names}


def test_every_table_says_which_compiler_it_is_of():
    """Its own output or another's in its section does, or the section's prose; or the page does further up."""
    unsaid, above, all_cells = [], LIST["named_above"], asked()
    assert [cell for page, cells in above.items() for cell in cells if cell not in all_cells[page]] == []
    for page, cells in all_cells.items():
        says = [f":cell: {cell}\n" for cell, output in printed(page).items() if "(compiled for" in output]
        for edition in ("en", "zh-Hans"):
            text = (ROOT / f"book/{edition}/{page}.md").read_text("utf-8")
            for cell in cells:
                (section,) = (part for part in sections(page, edition).values() if f":cell: {cell}\n" in part)
                if cell in above.get(page, []):
                    section = text.partition(f":cell: {cell}\n")[0]
                prose = re.sub(r"^```\{code-cell\}.*?^```$", "", section, flags=re.M | re.S)
                if not any(each in section for each in says) and not re.search("CPU|TPU|H100", prose):
                    unsaid.append(f"{page}, {cell}: its section in {edition} names no compiler")
    assert unsaid == []


def test_the_rows_whose_order_explains_are_of_cells_that_ask_a_compiler():
    ordered = {(o["page"], row.rpartition(" | ")[0] or o["cell"]) for o in LIST["order"] for row in o["rows"]}
    all_cells = asked()
    assert {cell for page, cell in ordered if cell not in all_cells[page]} <= {"thirty-two-times"}  # by formula
