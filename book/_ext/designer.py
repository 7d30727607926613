"""The directive `{designer} STATE`: choose a model, a machine and a layout, see what a device holds, sends and takes.

STATE is what the page's address says: model=llama_8b&rows=128&length=2048&on=v5p:4x4x4&tensor=4 (see designer_page.js).
Without script it is one table: what the formulas say of STATE.
"""

import html
import json
from math import prod
from pathlib import Path
from urllib.parse import parse_qsl

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from minipod.choose import AXES, SHAPES, Design, design
from minipod.pods.slices import slice_of
from publish.pages import terms

SCRIPTS = ("form.js", "designer_data.js", "designer.js", "designer_page.js")


def words(edition: str) -> dict[str, str]:
    """What the designer says, by name."""
    return {
        name.removeprefix("designer_"): row[edition] for name, row in terms.ui().items() if name.startswith("designer_")
    }


def designed(state: str) -> Design:
    """What the formulas say of a state; fsdp takes the devices that the other axes leave."""
    found = dict(parse_qsl(state))
    sizes = {axis: int(found.get(axis, 1)) for axis in AXES if axis != "fsdp"}
    sizes["fsdp"] = slice_of(found["on"]).devices // prod(sizes.values())
    of = SHAPES[found["model"]].model(int(found["rows"]), int(found["length"]), scores=True)
    return design(of, found["on"], **sizes)


def table(found: Design, said: dict[str, str]) -> str:
    """One row for what is held, what each axis sends, and each of the three times."""
    rows = [(said[f"held_{name}"], f"{n / 1e9:.3g} GB") for name, n in found.held.items() if n]
    rows += [
        (f"{said[m.name.replace(' ', '_')]}, {m.op}: {', '.join(m.axes)}", f"{m.sent / 1e9:.3g} GB")
        for m in found.messages
    ]
    rows += [(said[name], f"{getattr(found.seconds, name):.3g} s") for name in ("compute", "memory", "network")]
    body = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return f"<table><tbody>{body}</tbody></table>"


class Designer(SphinxDirective):
    """`{designer} STATE`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        state, folder = self.arguments[0], Path(self.env.srcdir).name
        said = words(folder if folder.startswith("zh-") else "en")
        data = f'data-state="{html.escape(state)}" data-words="{html.escape(json.dumps(said, ensure_ascii=False))}"'
        self.env.metadata[self.env.docname]["designer"] = "1"
        shown = f"<p><code>{html.escape(state)}</code></p>{table(designed(state), said)}"
        return [nodes.raw("", f'<div class="designer" {data}>{shown}</div>', format="html")]


def load(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Scripts and style, on the page that has one."""
    if "designer" in app.env.metadata.get(page, {}):
        app.add_css_file("designer.css")
        for script in SCRIPTS:
            app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> dict:
    app.add_directive("designer", Designer)
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
