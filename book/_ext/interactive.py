"""What a page can ask with its script: the directives `{explorer} STATE` and `{designer} STATE`, and the players.

STATE is what the page's address says, such as array=8,16&mesh=2,4&spec=x,-&do=sum&dim=0 (see explorer.js) and
model=llama_8b&rows=128&length=2048&on=v5p:4x4x4&tensor=4 (see designer_page.js). Without script the explorer is a
picture and the designer one table, both of STATE. With the option `:whole:` the page's own address carries the
explorer's state; elsewhere a link leads to the explorer's page. Players (minipod/pictures/player.py) show all frames.
"""

import html
import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, product
from pathlib import Path
from urllib.parse import parse_qs, parse_qsl

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from minipod.choose import AXES, SHAPES, Design, design
from minipod.pods.slices import slice_of
from publish.pages import terms

MESH_AXES = "xyz"
# What brings its files along: a mark in a page's HTML, its style sheet, its scripts.
FILES = (
    ('<div class="explorer"', "explorer.css", ("form.js", "explorer.js")),
    ('<div class="designer"', "designer.css", ("form.js", "designer_data.js", "designer.js", "designer_page.js")),
    ('<div class="player"', "player.css", ("player.js",)),
)


def words(kind: str, folder: str) -> dict[str, str]:
    """What the explorer or the designer says, by name, on the pages of this folder."""
    edition = folder if folder.startswith("zh-") else "en"
    return terms.ui_in(edition, f"{kind}_")


def drawn(shape: Sequence[int], mesh: Sequence[int], spec: Sequence[str]) -> tuple[str, dict[str, int]]:
    """The mesh and the array as tables, as `drawn` of explorer.js, and the numbers below them. float32 of `shape`.

    ValueError where the array cannot be cut so: nobody begins with an error.
    """
    parts = [math.prod(mesh[MESH_AXES.index(a)] for a in entry if a != "-") for entry in spec]
    if len(spec) != len(shape) or any(n % p for n, p in zip(shape, parts, strict=True)):
        raise ValueError(f"an array of shape {tuple(shape)} cannot be cut by {','.join(spec)} on a mesh {tuple(mesh)}")
    keys = [", ".join(_held(device, shape, mesh, spec, parts)) for device in range(math.prod(mesh))]
    holders: dict[str, list[int]] = {}
    for device, key in enumerate(keys):
        holders.setdefault(key, []).append(device)

    def painted(key: str, text: str) -> str:
        first = holders[key][0]
        return f'<td class="c{first % 8}{" again" if first > 7 else ""}">{text}</td>'

    places = [[f"{axis}={k}" for k in range(n)] for axis, n in zip(MESH_AXES, mesh, strict=False)]
    ranges = [[f"{a}:{b}" for a, b in pairwise(range(0, n + 1, n // p))] for n, p in zip(shape, parts, strict=True)]
    on_mesh = (painted(k, f"<b>{i}</b><small>{k.replace(', ', '<br>')}</small>") for i, k in enumerate(keys))
    every = map(", ".join, product(*ranges))
    tables = _tables("mesh", places, on_mesh)
    tables += _tables("blocks", ranges, (painted(k, ", ".join(map(str, holders[k]))) for k in every))
    size = 4 * math.prod(shape) // math.prod(parts)
    numbers = {"blocks": math.prod(parts), "copies": math.prod(mesh) // math.prod(parts), "bytes": size}
    return tables, {**numbers, "total": size * math.prod(mesh)}


def _held(
    device: int, shape: Sequence[int], mesh: Sequence[int], spec: Sequence[str], parts: Sequence[int]
) -> Iterator[str]:
    """The range that a device holds of each dimension."""
    for n, entry, p in zip(shape, spec, parts, strict=True):
        index = 0
        for a in entry.strip("-"):
            size, after = mesh[MESH_AXES.index(a)], math.prod(mesh[MESH_AXES.index(a) + 1 :])
            index = index * size + device // after % size
        yield f"{index * n // p}:{(index + 1) * n // p}"


def _tables(kind: str, along: Sequence[Sequence[str]], cells: Iterator[str]) -> str:
    """Rows and columns are the last two of `along`; of three, a table for each of the first. The last runs fastest."""
    lead, rows = (along[0] if len(along) == 3 else [""]), (along[-2] if len(along) > 1 else [""])
    tables = ""
    for front in lead:
        caption = f"<caption>{front}</caption>" if front else ""
        head = "".join(f'<th scope="col">{c}</th>' for c in along[-1])
        body = ""
        for r in rows:
            side = f'<th scope="row">{r}</th>' if r else "<td></td>"
            body += f"<tr>{side}{''.join(islice(cells, len(along[-1])))}</tr>"
        tables += f'<table class="{kind}">{caption}<tr><td></td>{head}</tr>{body}</table>'
    return f"<div>{tables}</div>"


class Explorer(SphinxDirective):
    """`{explorer} STATE`."""

    required_arguments = 1
    option_spec = {"whole": directives.flag}

    def run(self) -> list[nodes.Node]:
        address, folder = self.arguments[0], Path(self.env.srcdir).name
        text = words("explorer", folder)
        state = {name: values[0].split(",") for name, values in parse_qs(address).items()}
        array, mesh = ([int(n) for n in state[name]] for name in ("array", "mesh"))
        tables, numbers = drawn(array, mesh, state["spec"])
        facts = "".join(f"<div><dt>{text[name]}</dt><dd>{n:,}</dd></div>" for name, n in numbers.items())
        whole = " data-whole" if "whole" in self.options else ""
        words_data = html.escape(json.dumps(text, ensure_ascii=False))
        data = f'data-state="{html.escape(address)}" data-words="{words_data}"{whole}'
        figure = f"<figure><figcaption><code>x</code></figcaption>{tables}<dl>{facts}</dl></figure>"
        panel = f'<div class="panels">{figure}</div>'
        shown = f'<p class="held">{text["held"]}</p>{panel}'
        return [nodes.raw("", f'<div class="explorer" {data}><div class="shown">{shown}</div></div>', format="html")]


def designed(state: str) -> Design:
    """What the formulas say of a state; fsdp takes the devices that the other axes leave."""
    choices = dict(parse_qsl(state))
    sizes = {axis: int(choices.get(axis, 1)) for axis in AXES if axis != "fsdp"}
    sizes["fsdp"] = slice_of(choices["on"]).devices // math.prod(sizes.values())
    of = SHAPES[choices["model"]].model(int(choices["rows"]), int(choices["length"]), scores=True)
    return design(of, choices["on"], **sizes)


def table(made: Design, text: dict[str, str]) -> str:
    """One row for what is held, what each axis sends, and each of the three times."""
    rows = [(text[f"held_{name}"], f"{n / 1e9:.3g} GB") for name, n in made.held.items() if n]
    rows += [
        (f"{text[m.name.replace(' ', '_')]}, {m.op}: {', '.join(m.axes)}", f"{m.sent / 1e9:.3g} GB")
        for m in made.messages
    ]
    rows += [(text[name], f"{getattr(made.seconds, name):.3g} s") for name in ("compute", "memory", "network")]
    body = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return f"<table><tbody>{body}</tbody></table>"


class Designer(SphinxDirective):
    """`{designer} STATE`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        state, folder = self.arguments[0], Path(self.env.srcdir).name
        text = words("designer", folder)
        data = f'data-state="{html.escape(state)}" data-words="{html.escape(json.dumps(text, ensure_ascii=False))}"'
        shown = f"<p><code>{html.escape(state)}</code></p>{table(designed(state), text)}"
        return [nodes.raw("", f'<div class="designer" {data}>{shown}</div>', format="html")]


def load(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Scripts and styles, on the pages that have one."""
    for mark, sheet, scripts in FILES:
        if mark in context.get("body", ""):
            app.add_css_file(sheet)
            for script in scripts:
                app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> dict:
    app.add_directive("explorer", Explorer)
    app.add_directive("designer", Designer)
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
