"""Turn MyST into plain Markdown, because programs that show downloaded notebooks know no boxes, labels and roles."""

import re

_OPEN = re.compile(r"(:{3,}|`{3,})\{([\w-]+)\}\s*(.*)")
_OPTION = re.compile(r":([\w-]+):\s*(.*)")
_LABEL = re.compile(r"\(([^()\s]+)\)=\s*")
_PARAGRAPH_ENDS = re.compile(r"\s*$|[|%]|:{3,}|`{3,}|\([^()\s]+\)=")
_TARGET = re.compile(r"(.*?)\s*<([^<>]+)>", re.S)
_PIECES = re.compile(
    r"\{(?P<role>[\w-]+)\}`(?P<content>[^`]+)`|`[^`]+`|(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^()\s]+)\)"
)
BOXES = {"admonition", "note", "tip", "hint", "important", "warning", "caution", "seealso"}


class Links:
    """The targets of labels and pages. titles: label or page → its title. pages: label → its page."""

    def __init__(self, titles: dict[str, str], pages: dict[str, str], here: str):
        self.titles, self.pages, self.here = titles, pages, here

    def to(self, target: str, text: str | None = None) -> str:
        """Return a Markdown link to a label or a page. Raises ValueError for an unknown target."""
        if target not in self.titles:
            raise ValueError(f"{self.here}: no page or label is called “{target}”")
        if target not in self.pages:
            return f"[{text or self.titles[target]}]({target}.ipynb)"
        page = self.pages[target]
        return f"[{text or self.titles[target]}]({'' if page == self.here else page + '.ipynb'}#{target})"


def plain(text: str, links: Links, names: dict[str, str]) -> str:
    """Return plain Markdown for one Markdown cell. names: by directive, the title of a box that has none.

    Raises ValueError for an unknown directive or role.
    """
    out, lines, i = [], text.split("\n"), 0
    while i < len(lines):
        line = lines[i]
        if m := _OPEN.fullmatch(line):
            end = next((j for j in range(i + 1, len(lines)) if lines[j].rstrip() == m[1]), len(lines))
            out += _box(m[2], m[3], lines[i + 1 : end], links, names)
            i = end
        elif m := re.match(r"(`{3,})", line):
            end = next((j for j in range(i + 1, len(lines)) if lines[j].rstrip() == m[1]), len(lines))
            out += lines[i : end + 1]
            i = end
        elif m := _LABEL.fullmatch(line):
            out += [f'<a id="{m[1]}"></a>', ""]
        elif line.startswith("% "):
            pass
        else:  # whole paragraphs: a reference may go on in the next line; a row of a table is a line
            ends = (j for j in range(i + 1, len(lines)) if line.startswith("|") or _PARAGRAPH_ENDS.match(lines[j]))
            end = next(ends, len(lines))
            out += _inline("\n".join(lines[i:end]), links).split("\n")
            i = end - 1
        i += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")


def _box(kind: str, argument: str, lines: list[str], links: Links, names: dict[str, str]) -> list[str]:
    count = next((i for i, line in enumerate(lines) if not _OPTION.fullmatch(line)), len(lines))
    options = {m[1]: m[2] for line in lines[:count] if (m := _OPTION.fullmatch(line))}
    body = "\n".join(lines[count:])
    title = _inline(argument, links)
    if kind == "math":
        return ["$$", body, "$$"]
    if kind in ("code-block", "code"):
        return [f"```{argument}", body, "```"]
    if kind == "dropdown":
        return ["<details>", f"<summary>{title}</summary>", "", plain(body, links, names), "", "</details>", ""]
    if kind in ("figure", "image"):
        caption = plain(body, links, names)
        return [f"![{options.get('alt', caption)}]({argument})", "", caption]
    if kind == "div":
        return [plain(body, links, names), ""]
    if kind in ("list-table", "table"):
        return [f"**{title}**", "", plain(body, links, names)] if title else [plain(body, links, names)]
    if kind in ("explorer", "designer"):  # need a page and its script
        return [links.to(f"sec-{kind}"), ""]
    if kind not in BOXES:
        raise ValueError(f"{links.here}: the directive {{{kind}}} has no plain Markdown form (plain_markdown.py)")
    title = title or names.get(kind, "")
    inside = plain(body, links, names)
    if options.get("class") == "exercise":  # holds folded boxes: a quotation around them would not fold everywhere
        return ["---", "", f"**{title}**", "", inside, ""]
    return [f"> {line}".rstrip() for line in f"**{title}**\n\n{inside}".split("\n")] + [""]


def _inline(line: str, links: Links) -> str:
    def replace(m: re.Match) -> str:
        if m["role"]:
            return _role(m["role"], m["content"], links)
        if not m["target"]:
            return m[0]  # code stays as it is
        named = m["target"].startswith("#") or (m["target"].endswith(".md") and "/" not in m["target"])
        return links.to(m["target"].removeprefix("#").removesuffix(".md"), m["text"] or None) if named else m[0]

    return _PIECES.sub(replace, line)


def _role(kind: str, content: str, links: Links) -> str:
    if kind == "math":
        return f"${content}$"
    if kind in ("code", "literal"):
        return f"`{content}`"
    if kind in ("ref", "doc"):
        named = _TARGET.fullmatch(content)
        return links.to(named[2], named[1]) if named else links.to(content)
    raise ValueError(f"{links.here}: the role {{{kind}}} has no plain Markdown form (plain_markdown.py)")
