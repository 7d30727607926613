"""The directive `{explorer} STATE`: choose an array, a mesh and a spec, see who holds what; a picture without script.

STATE is what the address of the explorer's own page says: array=8,16&mesh=2,4&spec=x,-&do=sum&dim=0 (see explorer.js).
With the option `:whole:` the page's own address carries the state; elsewhere a link leads to that page.
"""

import html
import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, product
from pathlib import Path
from urllib.parse import parse_qs

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from publish.pages import terms

AXES = "xyz"


def words(edition: str) -> dict[str, str]:
    """What the explorer says, by name."""
    return {
        name.removeprefix("explorer_"): row[edition] for name, row in terms.ui().items() if name.startswith("explorer_")
    }


def drawn(shape: Sequence[int], mesh: Sequence[int], spec: Sequence[str]) -> tuple[str, dict[str, int]]:
    """The mesh and the array as tables, as `drawn` of explorer.js, and the numbers below them. float32 of `shape`.

    ValueError where the array cannot be cut so: nobody begins with an error.
    """
    parts = [math.prod(mesh[AXES.index(a)] for a in entry if a != "-") for entry in spec]
    if len(spec) != len(shape) or any(n % p for n, p in zip(shape, parts, strict=True)):
        raise ValueError(f"an array of shape {tuple(shape)} cannot be cut by {','.join(spec)} on a mesh {tuple(mesh)}")
    keys = [", ".join(_held(device, shape, mesh, spec, parts)) for device in range(math.prod(mesh))]
    holders: dict[str, list[int]] = {}
    for device, key in enumerate(keys):
        holders.setdefault(key, []).append(device)

    def painted(key: str, text: str) -> str:
        first = holders[key][0]
        return f'<td class="c{first % 8}{" again" if first > 7 else ""}">{text}</td>'

    places = [[f"{axis}={k}" for k in range(n)] for axis, n in zip(AXES, mesh, strict=False)]
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
            size, after = mesh[AXES.index(a)], math.prod(mesh[AXES.index(a) + 1 :])
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
        found, folder = self.arguments[0], Path(self.env.srcdir).name
        said = words(folder if folder.startswith("zh-") else "en")
        state = {name: values[0].split(",") for name, values in parse_qs(found).items()}
        array, mesh = ([int(n) for n in state[name]] for name in ("array", "mesh"))
        tables, numbers = drawn(array, mesh, state["spec"])
        facts = "".join(f"<div><dt>{said[name]}</dt><dd>{n:,}</dd></div>" for name, n in numbers.items())
        whole = " data-whole" if "whole" in self.options else ""
        data = (
            f'data-state="{html.escape(found)}" data-words="{html.escape(json.dumps(said, ensure_ascii=False))}"{whole}'
        )
        figure = f"<figure><figcaption><code>x</code></figcaption>{tables}<dl>{facts}</dl></figure>"
        panel = f'<div class="panels">{figure}</div>'
        shown = f'<p class="held">{said["held"]}</p>{panel}'
        self.env.metadata[self.env.docname]["explorer"] = "1"
        return [nodes.raw("", f'<div class="explorer" {data}><div class="shown">{shown}</div></div>', format="html")]


def load(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Script and style, on the pages that have one."""
    if "explorer" in app.env.metadata.get(page, {}):
        app.add_css_file("explorer.css")
        for script in ("form.js", "explorer.js"):
            app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> dict:
    app.add_directive("explorer", Explorer)
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
