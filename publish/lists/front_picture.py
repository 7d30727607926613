"""The picture of the front page as a file for each README: `make sync` writes it from what the page's cell drew."""

import json
import re
import tempfile
from pathlib import Path

from minipod.drawing import Picture
from publish.pages.figures import in_words

RECORDED = "book/outputs/index.json"
FILES = {"en": "book/front_page.svg", "zh-Hans": "book/front_page.zh-Hans.svg"}


def pictures(root: Path) -> dict[Path, str]:
    """The files as they should be; none where the front page has no picture that is recorded."""
    if not (root / RECORDED).exists():
        return {}
    cells = json.loads((root / RECORDED).read_text("utf-8"))["cells"]
    shown = ("".join(o.get("data", {}).get("text/html", "")) for cell in cells for o in cell["outputs"])
    svg = next((m[0] for html in shown if (m := re.search("<svg.*</svg>", html, re.S))), None)
    if svg is None:
        return {}
    return {root / path: _alone(in_words(svg, edition)) for edition, path in FILES.items()}


def _alone(svg: str) -> str:
    """A picture of a page as the text of a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return Picture(svg, "").save(Path(folder, "picture.svg")).read_text("utf-8")
