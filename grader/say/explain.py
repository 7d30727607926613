"""A verdict in words: what was called, what came back, what was expected, and why that may be."""

import re
import textwrap
from pathlib import Path
from typing import Any

from grader.exercise.spec import Spec
from grader.judge.verdict import Verdict
from grader.messages import lesson_words, pick, say

SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}
LONG = 110  # characters of one value


def explain(spec: Spec, verdict: Verdict, limit: float, memory: float, lang: str) -> str:
    """The whole explanation, several lines, no colour. Empty for a right answer."""
    if verdict.outcome == "right":
        return ""
    file, facts = _shown(verdict.file, spec), verdict.facts
    lines = []
    if verdict.args is not None:
        inner = ", ".join(show(arg, lang, brief=True) for arg in verdict.args)
        call = textwrap.shorten(f"{spec.name}({inner})", 200, placeholder=" …")
        if verdict.process is not None:
            call += " · " + say("process", lang, process=verdict.process)
        lines.append(_line("called", call, lang))
    if verdict.reason in ("differs",):
        lines += _difference(verdict, lang)
    elif verdict.reason == "budget":
        lines.append(say("budget", lang, has=_has(facts["traffic"], lang), allowed=_allowed(facts, lang)))
    elif verdict.reason == "raised":
        lines.append(_line("got", say("raised", lang, type=facts["type"], text=_first_lines(facts["text"])), lang))
    else:
        key = {"todo": "todo-text"}.get(verdict.reason, verdict.reason)
        values = {"file": file, "line": verdict.line, "lesson": spec.lesson, "name": spec.name, "memory": f"{memory:g}"}
        values |= {"limit": f"{limit:g}", "process": verdict.process} | facts
        lines.append(say(key, lang, **{k: _first_lines(v) if isinstance(v, str) else v for k, v in values.items()}))
    where = facts.get("own") or _stack_lines(facts.get("where", ""), verdict.file)
    for line, code in where or []:
        lines.append(_line("where", say("where", lang, file=file, line=line, code=code.strip()), lang))
    if verdict.mistake:
        lines.append(mistake_words(spec, verdict.mistake, lang))
    elif verdict.near:
        lines.append(near_words(verdict.near, lang))
    return "\n".join(lines)


def mistake_words(spec: Spec, mistake: str, lang: str) -> str:
    """The name and the explanation of a known mistake, from words.toml."""
    words = lesson_words(spec.folder).get(spec.name, {}).get("mistakes", {})
    entry = words.get(mistake.removeprefix(f"{spec.name}__"))
    if not entry:
        return mistake
    dash = " — " if lang == "en" else "——"
    return f"{pick(entry['name'], lang)}{dash}{pick(entry['text'], lang)}"


def near_words(near: tuple[str, dict[str, Any]], lang: str) -> str:
    """The sentence of a near miss; a value may itself be words."""
    key, values = near
    said = {k: near_words(v, lang) if isinstance(v, tuple) else v for k, v in values.items()}
    return say(key if key.startswith("error-") else f"near-{key}", lang, **said)


def show(x: Any, lang: str, brief: bool = False) -> str:
    """A packed value in a few words; brief leaves out the numbers of arrays and the longer remarks."""
    kind = x["t"]
    if kind == "array":
        return _array(x, lang, brief)
    if kind in ("tuple", "list", "set", "dict", "node", "slice"):
        items = [show(i, lang, True) for i in x["items"]]
        if kind == "dict":
            items = [f"{show(k, lang)}: {i}" for k, i in zip(x["keys"], items, strict=True)]
        left, right = {"tuple": "()", "list": "[]", "dict": "{}", "set": "{}"}.get(kind, "()")
        end = "," if kind == "tuple" and len(items) == 1 else ""
        name = {"node": x.get("v"), "slice": "slice"}.get(kind, "")
        return textwrap.shorten(f"{name}{left}{', '.join(items)}{end}{right}", LONG * 2, placeholder=" …")
    if kind == "spec":
        return spec_text(x["v"])
    if kind == "mesh":
        text = "Mesh(" + ", ".join(f"{name}={size}" for name, size in x["axes"]) + ")"
        return text if brief or not x["ids"] else f"{text}, {x['ids']}"
    if kind == "sharding" and "spec" in x:
        return f"NamedSharding({show(x['mesh'], lang, brief=True)}, {spec_text(x['spec'])})"
    if kind == "sharding":
        return f"{x['v']}({', '.join(map(str, x['devices']))})"
    if kind == "struct":
        return f"{_dtype(x['dtype'])}{_shape(x)}"
    if kind == "none":
        return "None"
    if kind == "device":
        return f"CpuDevice(id={x['v']})"
    if kind == "other":
        if x["v"] == "generator":
            return say("a-generator", lang)
        return x["name"] or (x["repr"] if brief else say("a-value-of-type", lang, type=x["v"], text=x["repr"]))
    text = repr(complex(*x["v"]) if kind == "complex" else x["v"]) if kind != "dtype" else x["v"]
    return text if len(text) <= LONG else text[:LONG] + "…"


def spec_text(entries: list[Any]) -> str:
    """P('x', None, ('y', 'z')) from a packed spec."""
    return "P(" + ", ".join(repr(tuple(e)) if isinstance(e, list) else repr(e) for e in entries) + ")"


def _array(x: Any, lang: str, brief: bool) -> str:
    text = f"{_dtype(x['dtype'])}{_shape(x)}"
    first = x.get("first") or next((p["first"] + "…" for p in x.get("parts", [])), "")
    if first and not brief:
        text += f" = {first}"
    if x.get("traced"):
        return say("traced", lang, array=text)
    if not x["jax"]:
        return text if brief else say("numpy", lang, array=text)
    if x["count"] == 1:
        return text if brief else say("one-device", lang, array=text)
    if x["copies"]:
        return text if brief else say("copies", lang, array=text, count=x["count"])
    if brief:
        return text + (f" {spec_text(x['spec'])}" if "spec" in x else "")
    if "spec" in x and any(x["spec"]):
        return say("spec", lang, array=text, spec=spec_text(x["spec"]), count=x["count"])
    return say("split", lang, array=text, count=x["count"])


def _dtype(name: str) -> str:
    word, bits = re.match(r"([a-z]+)(.*)", name).groups()  # type: ignore[union-attr]
    return SHORT[word] + bits if word in SHORT and bits.isdigit() else name


def _shape(x: Any) -> str:
    return "[" + ", ".join(map(str, x["shape"])) + "]"


def _line(label: str, text: str, lang: str) -> str:
    return f"{say('label-' + label, lang)}  {text}"


def _difference(verdict: Verdict, lang: str) -> list[str]:
    found = verdict.difference
    assert found is not None
    if found.kind == "printed":
        got, expected = (
            say("printed-text", lang, text=repr(t[:200])) if t else say("printed-nothing", lang)
            for t in (found.got, found.expected)
        )
    else:
        got, expected = show(found.got, lang), show(found.expected, lang)
    at = f"{found.path} " if found.path else ""
    lines = [_line("got", at + got, lang), _line("expected", at + expected, lang)]
    key = {"numbers": "numbers" if found.at else "number"}.get(found.kind, found.kind)
    if key == "type" and found.got["t"] == "none":
        key = "none"
    values = {"at": found.at, "got": found.numbers[0], "expected": found.numbers[1]}
    if key == "placement":
        if not found.at:
            return lines
        values |= {k: _held(v, found.at, lang) for k, v in (("got", found.got), ("expected", found.expected))}
    return [*lines, say(f"differs-{key}", lang, **values)]


def _held(x: Any, device: str, lang: str) -> str:
    """The block that a device holds, as an index: `[0:4, 0:2]`."""
    block = next((b for d, b in x.get("where", []) if str(d) == device), None)
    if block is None:
        return say("holds-nothing", lang)
    if not block or all([a, b] == [0, n] for (a, b), n in zip(block, x["shape"], strict=True)):
        return say("holds-all", lang)
    return say("holds-block", lang, block="[" + ", ".join(f"{a}:{b}" for a, b in block) + "]")


def _has(traffic: list[Any], lang: str) -> str:
    counted: dict[tuple[str, int], int] = {}
    for op, size, times in traffic:
        counted[op, size] = counted.get((op, size), 0) + times
    if not counted:
        return say("budget-no-traffic", lang)
    items = [
        say("budget-item" if n == 1 else "budget-items", lang, op=op, bytes=_bytes(size, lang), times=n)
        for (op, size), n in counted.items()
    ]
    return (", " if lang == "en" else "、").join(items)


def _allowed(facts: dict[str, Any], lang: str) -> str:
    if not facts["ops"] or not facts["bytes"]:
        return say("budget-nothing", lang)
    ops = (" or " if lang == "en" else " 或 ").join(facts["ops"])
    return say(
        "budget-single" if facts.get("single") else "budget-allowed", lang, bytes=_bytes(facts["bytes"], lang), ops=ops
    )


def _bytes(n: int, lang: str) -> str:
    return say("bytes-one", lang) if n == 1 else say("bytes", lang, n=f"{n:,}")


def _first_lines(text: str, lines: int = 3, most: int = 300) -> str:
    text = "\n".join(text.strip().splitlines()[:lines])
    return text if len(text) <= most else text[:most].rstrip() + " …"


def _stack_lines(stack: str, file: str) -> list[tuple[int, str]]:
    """The learner's lines in faulthandler's traceback, outermost first."""
    numbers = [int(n) for path, n in re.findall(r'File "([^"]+)", line (\d+)', stack) if path == file]
    if not numbers:
        return []
    code = Path(file).read_text(encoding="utf-8").splitlines()
    return [(n, code[n - 1]) for n in reversed(numbers[:2]) if n <= len(code)]


def _shown(path: str, spec: Spec) -> str:
    """A path as the learner writes it: from the folder above lessons/, when it lies there."""
    p = Path(path)
    return str(p.relative_to(spec.root)) if p.is_relative_to(spec.root) else str(p)
