"""Provide the words of book/terms.toml, and Traditional Chinese from Simplified."""

import functools
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from publish.kept import kept

BOOK = Path(__file__).resolve().parents[2] / "book"
_WIDE = r"[\u2e80-\u9fff\uff00-\uffef\u3000-\u303f“”‘’…—]"
_ENDS_WIDE = re.compile(_WIDE + r"[*`]*$")
_ENDS_STOP = re.compile(r"[，。：；？！、（）]$")  # no space after these, whatever comes next
_AFTER_CODE = re.compile(r"(.*?\S {2,})(# .*)")  # a comment at the end of a line
_FENCE = re.compile(r"\s*(?:> ?)*(`{3,}|~{3,})(.*)")
_BLOCK = re.compile(r"\s*(#|:::|%|\||\(\S+\)=|:[\w-]+:|[-*+] |\d+\. |>|$)")


@functools.cache
def terms() -> dict:
    """Return the whole of terms.toml."""
    return tomllib.loads((BOOK / "terms.toml").read_text("utf-8"))


@functools.cache
def ui() -> dict[str, dict[str, str]]:
    """Return the strings of the page furniture, by name and edition; zh-Hant is derived if it is not written."""
    return {
        name: row if "zh-Hant" in row else {**row, "zh-Hant": traditional(row["zh-Hans"])}
        for name, row in terms()["ui"].items()
    }


def ui_in(edition: str, prefix: str = "") -> dict[str, str]:
    """Return the strings of one edition whose names begin with `prefix`, without this prefix."""
    return {name.removeprefix(prefix): row[edition] for name, row in ui().items() if name.startswith(prefix)}


@functools.cache
def converter():
    """Return OpenCC's converter for Taiwan, and the rules of terms.toml that follow it (pattern, replacement).

    Most rules are plain words, which need no pattern: these are strings.
    """
    from opencc import OpenCC

    rows = [(row["find"], row["put"]) for row in terms()["traditional"]]
    plain = {find for find, put in rows if re.escape(find) == find and "\\" not in put}
    return OpenCC("s2twp"), [(find if find in plain else re.compile(find), put) for find, put in rows]


def exchanged(text: str) -> str:
    """Convert a whole text, which contains no code, to Traditional Chinese."""
    opencc, rules = converter()
    text = opencc.convert(text)
    for find, put in rules:
        text = text.replace(find, put) if isinstance(find, str) else find.sub(put, text)
    return text


# the same line is in the words of a lesson and on its page, and several steps of a build need it
_exchanged_line = kept(exchanged)


def traditional(text: str) -> str:
    """Convert Simplified to Traditional Chinese as written in Taiwan, with OpenCC and then the rules of terms.toml.

    Fenced code stays as it is, except for its comments and for output in fences of `text`; so does everything that is
    not Chinese.
    """
    out, printed = [], False
    for line, code in with_fences(text):
        start = ""
        if code and (fence := _FENCE.match(line)):
            printed = fence[2].strip() == "text"
        if code and not printed and not line.lstrip().startswith("# "):
            comment = _AFTER_CODE.fullmatch(line)
            start, line = comment.groups() if comment else (line, "")
        if not line.isascii():
            line = _exchanged_line(line)
        out.append(start + line)
    return "\n".join(out)


def with_fences(text: str):
    """Yield each line, and whether it is fenced code (a fence with a `{directive}` of prose is not)."""
    fence, code = "", False  # the fence that is open, and whether it contains code
    for line in text.split("\n"):
        m = _FENCE.match(line)
        if m and not fence:
            fence, code = m[1], not m[2].startswith("{") or m[2].startswith("{code")
            yield line, code
        else:
            yield line, code
            if m and fence and m[1].startswith(fence) and not m[2].strip():
                fence, code = "", False


def join_lines(text: str) -> str:
    """Join the lines of a Chinese paragraph, since browsers show a line break between two Han characters as a space."""
    out: list[str] = []
    previous_code = True
    for line, code in with_fences(text):
        join = (
            not (code or previous_code)
            and not _BLOCK.match(line)
            and not re.match(r"\s*(#|:::|%|\||\(\S+\)=|:[\w-]+:)", out[-1])
            and (_ENDS_WIDE.search(out[-1]) if re.match(r"\s*[*`]*" + _WIDE, line) else _ENDS_STOP.search(out[-1]))
            and not (out[-1].endswith("`") and line.lstrip().startswith("`"))
        )
        if join:
            out[-1] += line.lstrip()
        else:
            out.append(line)
        previous_code = code
    return "\n".join(out)


def derive_toml(
    text: str,
    blanks: Mapping[str, Mapping[str, str | list[str]]] | None = None,
    source: str = "the file beside it",
) -> str | None:
    """Return the zh-Hant version of a lesson's TOML: the same tables with only zh-Hant; None if it is empty.

    blanks  the zh-Hans texts in the file of blanks, by exercise; their keys become keys of the exercise's table
    source  the origin of the text, for its first line
    """
    tables = tomllib.loads(text)
    for name, texts in (blanks or {}).items():
        tables.setdefault(name, {}).update({key: {"zh-Hans": value} for key, value in texts.items()})
    tree = _only_traditional(tables)
    if not tree:
        return None
    return f"# Derived from {source} by `make sync`; change that one.\n" + "\n".join(_dump(tree, [])) + "\n"


def _only_traditional(node: dict) -> dict:
    out = {}
    for key, value in node.items():
        if not isinstance(value, dict):
            continue
        if "zh-Hans" in value:
            text = value["zh-Hans"]
            value = {"zh-Hant": traditional(text) if isinstance(text, str) else [traditional(w) for w in text]}
            out[key] = value
        elif inner := _only_traditional(value):
            out[key] = inner
    return out


def _dump(node: dict, path: list[str]):
    leaves = {k: v for k, v in node.items() if "zh-Hant" in v}
    if leaves:
        if path:
            yield f"\n[{'.'.join(map(_key, path))}]"
        for key, value in leaves.items():
            yield f"{_key(key)}.zh-Hant = {json.dumps(value['zh-Hant'], ensure_ascii=False)}"
    for key, value in node.items():
        if key not in leaves:
            yield from _dump(value, [*path, key])


def _key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else json.dumps(key, ensure_ascii=False)
