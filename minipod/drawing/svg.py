"""Make small SVGs that any page can contain: the palette, the style of all pictures, `Canvas` and `Picture`.

Each label is a separate `<text>` element, so that it can be translated; `LABELS` is the whole vocabulary. Colours are
CSS custom properties with fallbacks (`--minipod-ink`, `--minipod-shard-0` …), so that pictures follow a page's light or
dark scheme; lines and labels have the page's text colour.
"""

import hashlib
import html
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minipod.drawing import phrases

# Paul Tol's "light" scheme, made for black labels on filled cells and safe for people who are colour-blind
# (personal.sron.nl/~pault, technical note SRON/EPS/TN/09-002), ordered so that neighbours differ in lightness too.
PALETTE = ("#77AADD", "#EEDD88", "#EE8866", "#44BB99", "#FFAABB", "#BBCC33", "#99DDFF", "#AAAA00")
# Lines on the page itself: at least 3 to 1 against it, in light and dark alike.
LINES = ("#3B82C4", "#D1603D", "#2B9A66", "#9B6BC9", "#A87F16", "#6E7F91")
DASHES = ("", "7 4", "2 3.5", "9 3 2 3", "12 4", "4 2")  # line `i` has dash `i`, to be recognised without colour
ON_COLOUR = "#16191D"  # words on a colour, in light and dark alike

# All labels of pictures, as regular expressions; everything else in a picture is code or numbers.
LABELS = (
    r"device \d+", r"devices [\d–, …]+", r"host \d+", r"\d+ more", r"[\d,]+ more hosts?",
    r"each number is a device", r"each device holds \w*\[[\d,]*\]", r"not divided: one copy on each device",
    r"no elements: no device holds any", r"(rows|columns|elements|slices)", r"(rows|columns|elements|slices) over .+",
    r"[\d–, …]+ bytes", r"1 byte", r"along .+", r"in a loop of unknown length", r"only in branch [\d–, …]+",
    r"nothing is sent", r"and 1 more collective", r"and [\d,]+ more collectives", r"and 1 more group",
    r"and [\d,]+ more groups", r"and 1 more group of the same size", r"and [\d,]+ more groups of the same size",
    r"step", r"loss", r"bytes", r"seconds", r"one device", r"(data|tensor|pipeline) parallel",
    r"\d+ of \d+ hops cross between hosts", r"each box is a chip, each number a device",
    r"bound by (compute|memory|network|host)", r"these do not fit", r"these fit, but a figure is missing",
    r"percent of the memory", r"milliseconds",
    r"axis .+", r"combined result", r"split", r"copied", r"stacked", r"\d+ arrays", r"…",
    r"process \d+", r"no call", r"≠", r"1 piece", r"\d+ pieces",
    r"compute", r"waiting for others", r"exchange", r"stage \d+", r"forward", r"backward",
    r"each device sends 2 × \d+ pieces, its array has \d+",
    r"bytes sent", r"start", r"turn \d+", r"before", r"after", r"stage \d+", r"host", r"device",
    r"waits in line \d+", r"at its end",
)  # fmt: skip

_STYLE = """
svg.minipod text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-size:13px;
fill:currentColor;fill:var(--minipod-ink,currentColor)}
svg.minipod .code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px}
svg.minipod .small{font-size:12px}svg.minipod .soft{opacity:.8}svg.minipod .strong{font-weight:600}
svg.minipod .box{fill:currentColor;fill-opacity:.05;stroke:currentColor;stroke-opacity:.28}
svg.minipod .line{fill:none;stroke:currentColor;stroke:var(--minipod-ink,currentColor);stroke-opacity:.6;
stroke-width:1.2}
svg.minipod .tip{fill:currentColor;fill:var(--minipod-ink,currentColor);fill-opacity:.7;stroke:none}
svg.minipod .dash{stroke-dasharray:5 4;stroke:#1B9E77;stroke:var(--minipod-return,#1B9E77);stroke-opacity:1;
stroke-width:1.6}
svg.minipod .dashtip{fill:#1B9E77;fill:var(--minipod-return,#1B9E77);stroke:none}
svg.minipod .tint{fill-opacity:.24;stroke:currentColor;stroke-opacity:.3}
svg.minipod .cell{stroke:#16191D;stroke-opacity:.25}svg.minipod .thin{fill:none;stroke:#16191D;stroke-opacity:.1}
svg.minipod text.on{fill:#16191D;fill:var(--minipod-on-colour,#16191D)}
""".replace("\n", "")
# Boxes that are no shard: a tint over the page's own background, so words on it keep the page's colour.
_ROLES = {"device": "#3F8CDB", "function": "#E3B11C", "collective": "#22A877", "copy": "#7F8894"}
_STYLE += "".join(f"svg.minipod .c{i}{{fill:{c};fill:var(--minipod-shard-{i},{c})}}" for i, c in enumerate(PALETTE))
_STYLE += "".join(f"svg.minipod .{r}{{fill:{c};fill:var(--minipod-{r},{c})}}" for r, c in _ROLES.items())
_STYLE += "svg.minipod .wire{fill:none;stroke:currentColor;stroke-width:1.8}svg.minipod .bundle{stroke-width:4.5}"
_STYLE += "svg.minipod .head{fill:currentColor;stroke:none}svg.minipod .rule{stroke:currentColor;stroke-opacity:.14}"
_STYLE += "".join(f"svg.minipod .l{i}{{color:{c};color:var(--minipod-line-{i},{c})}}" for i, c in enumerate(LINES))
_STYLE += "".join(f"svg.minipod .wire.d{i}{{stroke-dasharray:{d}}}" for i, d in enumerate(DASHES) if d)
# Matches only where the SVG is a file of its own: there is no page to take the text colour from.
_FILE_STYLE = "svg:root{color:#1F2328}@media(prefers-color-scheme:dark){svg:root{color:#E6EDF3;background:#14181D}}"

_DATA = re.compile(r"<metadata>(.*?)</metadata>", re.DOTALL)
_numbers = itertools.count()

AltText = Mapping[str, phrases.Phrase] | str  # the description of a picture: `phrases.alt_text`, or an English text


def colour(index: int) -> str:
    """Return the colour of shard `index`, as `#RRGGBB`. The eight colours repeat from the ninth shard on."""
    return PALETTE[index % len(PALETTE)]


def text_width(text: str, size: float = 13.0, code: bool = False) -> float:
    """Return a generous estimate of the width of `text` in units of the picture (fonts differ between machines)."""
    return sum(size if ord(c) > 0x2E80 else size * (0.61 if code else 0.57) for c in text)


@dataclass(frozen=True)
class Picture:
    """A picture. A notebook shows it at the end of a cell; `print` gives its alt text.

    svg: one `<svg class="minipod">` element that any HTML page can contain. alt: its description.
    """

    svg: str
    alt: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": f'<figure class="minipod">{self.svg}</figure>', "text/plain": self.alt}

    def __repr__(self) -> str:
        return self.alt

    def save(self, path: str | Path) -> Path:
        """Write the picture to `path` as an SVG file for light and dark pages. Returns the path."""
        path = Path(path)
        path.write_text(self.svg.replace("</style>", _FILE_STYLE + "</style>", 1) + "\n", encoding="utf-8")
        return path


def load(path: str | Path) -> Picture:
    """Read a picture that `save` wrote, perhaps in a different process.

    Raises FileNotFoundError or ValueError if there is none at `path`.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}: first run the program that saves the picture")
    svg = Path(path).read_text(encoding="utf-8").strip().replace(_FILE_STYLE, "", 1)
    title = re.search(r'^<svg [^>]*class="minipod".*?<title[^>]*>(.*?)</title>', svg, re.DOTALL)
    if title is None:
        raise ValueError(f"{path} is not a picture that minipod saved: write it with Picture.save")
    return Picture(svg, html.unescape(title[1]))


@dataclass
class Canvas:
    """The elements of a picture and its size in pixels; `picture` finishes it."""

    parts: list[str] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0
    patterns: set[int] = field(default_factory=set)

    def add(self, tag: str, content: str = "", **attributes: Any) -> None:
        """Add an element. `class_` becomes `class`, `text_anchor` becomes `text-anchor`; floats are rounded."""
        pairs = "".join(
            f' {name.rstrip("_").replace("_", "-")}="{html.escape(number(value))}"'
            for name, value in attributes.items()
            if value not in (None, "")
        )
        self.parts.append(f"<{tag}{pairs}>{content}</{tag}>" if content else f"<{tag}{pairs}/>")

    def rect(self, x: float, y: float, w: float, h: float, class_: str, radius: float = 4, **more: Any) -> None:
        """Add a rectangle with rounded corners; the picture grows to contain it."""
        self.add("rect", x=x, y=y, width=w, height=h, rx=radius or None, class_=class_, **more)
        self.grow(x + w, y + h)

    def shard(
        self, x: float, y: float, w: float, h: float, index: int, radius: float = 4, devices: Sequence[int] = ()
    ) -> None:
        """Add a cell in colour `index`, from the ninth on with a pattern. devices: its holders, as data."""
        self.rect(x, y, w, h, f"cell c{index % len(PALETTE)}", radius, data_devices=" ".join(map(str, devices)))
        pattern = index // len(PALETTE) % 4
        if pattern:
            self.patterns.add(pattern)
            self.rect(x, y, w, h, "", radius, fill=f"url(#ID-{pattern})")

    def text(self, x: float, y: float, text: str, class_: str = "", anchor: str = "middle") -> None:
        """Add a label, with its vertical middle at `y`; the picture grows to contain it."""
        if not text:
            return
        code, size = "code" in class_, 12.0 if "code" in class_ or "small" in class_ else 13.0
        extent = text_width(text, size, code) * {"start": 1.0, "middle": 0.5, "end": 0.0}[anchor]
        self.add("text", html.escape(text, quote=False), x=x, y=y + size * 0.35,
                 class_=class_, text_anchor=anchor if anchor != "start" else None)  # fmt: skip
        self.grow(x + extent, y + size * 0.7)

    def upright(self, x: float, y: float, text: str, class_: str = "") -> None:
        """Add a label that reads upwards, with its middle at (x, y)."""
        if text:
            self.add("text", html.escape(text, quote=False), class_=class_, text_anchor="middle",
                     transform=f"translate({number(x + 4.0)} {number(y)}) rotate(-90)")  # fmt: skip

    def arrow(self, points: Sequence[tuple[float, float]], class_: str = "line", tip: str = "tip") -> None:
        """Add a line through `points` with a tip; its last part is horizontal or vertical."""
        (x0, y0), (x, y) = points[-2], points[-1]
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
        path = "M" + "L".join(f"{number(px)} {number(py)}" for px, py in [*points[:-1], (x - 5 * dx, y - 5 * dy)])
        self.add("path", d=path, class_=class_)
        self.head(x, y, dx, dy, tip)

    def head(self, x: float, y: float, dx: int, dy: int, class_: str) -> None:
        """Add the head of an arrow that ends at (x, y) in the direction (dx, dy), one of which is 0."""
        base = [(x - 7 * dx - 3.5 * dy, y - 7 * dy - 3.5 * dx), (x - 7 * dx + 3.5 * dy, y - 7 * dy + 3.5 * dx)]
        self.add("polygon", points=" ".join(f"{number(a)},{number(b)}" for a, b in [(x, y), *base]), class_=class_)

    def grow(self, x: float, y: float) -> None:
        """Make the picture large enough to contain a point."""
        self.width, self.height = max(self.width, x), max(self.height, y)

    def picture(self, text: AltText, pad: float = 6.0) -> Picture:
        """Finish the picture and return it. text: its description, which becomes its title and its data."""
        box = (-pad, -pad, self.width + 2 * pad, self.height + 2 * pad)
        return finish("".join(self.parts), box, text, self.patterns)


def number(value: Any) -> str:
    """Format a number with at most two decimals, without trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _pattern(kind: int) -> str:
    lines = {1: "M-1 7L7 -1M5 13L13 5M-1 13L13 -1", 2: "M-1 5L7 13M5 -1L13 7M-1 -1L13 13", 3: "M0 3H12M0 9H12"}[kind]
    return (
        f'<pattern id="ID-{kind}" width="12" height="12" patternUnits="userSpaceOnUse">'
        f'<path d="{lines}" fill="none" stroke="#fff" stroke-opacity=".5" stroke-width="1.5"/></pattern>'
    )


def data(markup: str) -> dict[str, Any]:
    """Return the description of the first picture in HTML or SVG; {} if there is none.

    The first frame of a player contains the description of the player.
    """
    match = _DATA.search(markup)
    kept = json.loads(match[1]) if match else {}
    return kept.get("play", kept)


def finish(body: str, box: tuple[float, float, float, float], text: AltText, patterns: Iterable[int] = ()) -> Picture:
    """Make a Picture of `body`, SVG elements in the viewBox `box` (x, y, width, height); `ID` in it becomes unique."""
    kept = {"kind": "other", "says": text} if isinstance(text, str) else text
    alt = phrases.description(kept)
    data = json.dumps(kept, ensure_ascii=False, separators=(",", ":"), default=int)
    for mark in "&<>":  # so that it is the same text in HTML and in XML
        data = data.replace(mark, f"\\u{ord(mark):04x}")
    defs = "".join(_pattern(kind) for kind in sorted(patterns))
    unique = f"minipod-{hashlib.sha1((body + alt).encode()).hexdigest()[:8]}-{next(_numbers)}"
    body = (f"<defs>{defs}</defs>" if defs else "") + body
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="minipod" role="img" aria-labelledby="{unique}"'
        f' viewBox="{" ".join(number(float(v)) for v in box)}"'
        f' style="display:block;margin:auto;height:auto;max-width:min(100%,{round(box[2] * 1.1)}px)">'
        f'<title id="{unique}">{html.escape(alt, quote=False)}</title>'
        f"<metadata>{data}</metadata><style>{_STYLE}</style>"
        + body.replace('id="ID-', f'id="{unique}-').replace("url(#ID-", f"url(#{unique}-")
        + "</svg>"
    )
    return Picture(svg, alt)
