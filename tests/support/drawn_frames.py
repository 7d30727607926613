"""What the frames of a player show, read from what is drawn: the cells of each device, with their colours."""

import re
import xml.etree.ElementTree as ET

from minipod.pictures import Player

SVG = "{http://www.w3.org/2000/svg}"


def cells(player: Player, frame: int) -> list[list[tuple[str, set[int]]]]:
    """Of each device, from the first down: its cells in their order, what is written on each and its colours."""
    root = ET.fromstring(player.frames[frame].svg)
    rects = [r.attrib for r in root.iter(f"{SVG}rect")]
    texts = [(float(t.attrib["x"]), float(t.attrib["y"]), t) for t in root.iter(f"{SVG}text")]
    names = sorted((y, "".join(t.itertext())) for _, y, t in texts if "".join(t.itertext()).startswith("device "))
    found: list[list[tuple[str, set[int]]]] = [[] for _ in names]
    inside = [(y, x, t.text or "") for x, y, t in texts if t.attrib.get("text-anchor") == "middle"]
    for y, x, text in sorted(inside):
        device = max(i for i, (top, _) in enumerate(names) if top <= y + 4)
        own = {
            int(named[1]) for r in rects
            if float(r["x"]) <= x <= float(r["x"]) + float(r["width"]) and float(r["height"]) <= 20
            and y - 4 - 10.6 <= float(r["y"]) and float(r["y"]) + float(r["height"]) <= y - 4 + 10.6
            and (named := re.search(r"\bc(\d)$", r["class"]))
        }  # fmt: skip
        found[device].append((text, own))
    return found
