"""A verdict in words: what was called, what came back, what was expected, and why that may be."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from grader.exercise.lesson_words import exercise_words
from grader.exercise.spec import Budget
from grader.exercise.spec import Spec as Exercise
from grader.judge.verdict import Verdict
from grader.messages import Message, number, pick, say
from grader.see.array_values import Array
from grader.see.compare import Difference, PrintedDifference
from grader.see.observation import CodeLine, Traffic
from grader.see.values import (
    Bool,
    Bytes,
    Complex,
    Device,
    Dict,
    DType,
    Entry,
    Float,
    Int,
    List,
    Mesh,
    Nothing,
    Other,
    Set,
    Sharding,
    Spec,
    Struct,
    Text,
    Tree,
    Tuple,
    Value,
)

SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}
LONG = 110  # characters of one value


def explain(spec: Exercise, verdict: Verdict, limit: float, memory: float, lang: str) -> str:
    """The whole explanation, several lines, no colour. Empty for a right answer."""
    if verdict.outcome == "right":
        return ""
    file = _shown(verdict.file, spec)
    lines = []
    if verdict.args is not None:
        inner = ", ".join(show(arg, lang, brief=True) for arg in verdict.args)
        call = textwrap.shorten(f"{spec.name}({inner})", 200, placeholder=" …")
        if verdict.process is not None:
            call += " · " + say("process", lang, process=verdict.process)
        lines.append(_line("called", call, lang))
    case = verdict.observation
    if verdict.difference:
        lines += _difference(verdict.difference, lang)
    elif verdict.reason == "budget" and case and case.budget and isinstance(case.traffic, Traffic):
        sent = _bytes(case.traffic.total or 0, lang)
        has, allowed = _has(case.traffic, lang), _allowed(case.budget, lang)
        lines.append(say("budget", lang, sent=sent, has=has, allowed=allowed))
    elif verdict.reason == "raised" and (error := verdict.failure):
        lines.append(_line("got", say("raised", lang, type=error.type, text=_first_lines(error.text)), lang))
    else:
        key = {"todo": "todo-text"}.get(verdict.reason, verdict.reason)
        values: dict[str, object] = {"file": file, "line": verdict.line, "lesson": spec.lesson, "name": spec.name}
        values |= {"memory": f"{memory:g}", "limit": f"{limit:g}", "process": verdict.process}
        values |= verdict.because.values
        lines.append(say(key, lang, **{k: _first_lines(v) if isinstance(v, str) else v for k, v in values.items()}))
    for line, code in verdict.own or _stack_lines(verdict.stack, verdict.file):
        lines.append(_line("where", say("where", lang, file=file, line=line, code=code.strip()), lang))
    if verdict.mistake:
        lines.append(mistake_words(spec, verdict.mistake, lang))
    elif verdict.near:
        lines.append(near_words(verdict.near, lang))
    return "\n".join(lines)


def mistake_words(spec: Exercise, mistake: str, lang: str) -> str:
    """The name and the explanation of a known mistake, from words.toml."""
    words = exercise_words(spec.folder.parent, spec.exercise).mistakes.get(mistake)
    if not (words and words.name and words.text):
        return mistake
    dash = " — " if lang == "en" else "——"
    return f"{pick(words.name, lang)}{dash}{pick(words.text, lang)}"


def near_words(near: Message, lang: str) -> str:
    """The sentence of a near miss; a value may itself be words."""
    key = near.key if near.key.startswith("error-") else f"near-{near.key}"
    said = {k: near_words(v, lang) if isinstance(v, Message) else v for k, v in near.values.items()}
    return say(key, lang, **said)


def show(x: Value, lang: str, brief: bool = False) -> str:
    """A value in a few words; brief leaves out the numbers of arrays and the longer remarks."""
    match x:
        case Array():
            return _array(x, lang, brief)
        case Tree():
            return textwrap.shorten(_tree(x, lang), LONG * 2, placeholder=" …")
        case Spec(entries):
            return spec_text(entries)
        case Mesh(axes, ids):
            text = "Mesh(" + ", ".join(f"{name}={size}" for name, size in axes) + ")"
            return text if brief or not ids else f"{text}, {list(ids)}"
        case Sharding(mesh=Value() as mesh, spec=spec):
            return f"NamedSharding({show(mesh, lang, brief=True)}, {spec_text(spec)})"
        case Sharding(name, devices):
            return f"{name}({', '.join(map(str, devices))})"
        case Struct(dtype, shape):
            return f"{_dtype(dtype)}{_shape(shape)}"
        case Nothing():
            return "None"
        case Device(number):
            return f"CpuDevice(id={number})"
        case Other("generator"):
            return say("a-generator", lang)
        case Other(name, called, text):
            return called or (text if brief else say("a-value-of-type", lang, type=name, text=text))
        case Bool() | Int() | Float() | Complex():
            text = repr(x.number)
        case Text(words):
            text = repr(words)
        case Bytes(encoded):
            text = repr(encoded)
        case DType(text):
            pass
        case _:
            raise TypeError(f"{x} cannot be shown")
    return text if len(text) <= LONG else text[:LONG] + "…"


def _tree(x: Tree, lang: str) -> str:
    items = [show(item, lang, True) for item in x.items]
    match x:
        case Dict(keys):
            return "{" + ", ".join(f"{show(k, lang)}: {i}" for k, i in zip(keys, items, strict=True)) + "}"
        case List():
            return f"[{', '.join(items)}]"
        case Set():
            return "{" + ", ".join(items) + "}"
        case Tuple():
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return f"{x.kind}({', '.join(items)})"


def spec_text(entries: Sequence[Entry]) -> str:
    """P('x', None, ('y', 'z')) from a spec's entries."""
    return f"P({', '.join(map(repr, entries))})"


def _array(x: Array, lang: str, brief: bool) -> str:
    text = f"{_dtype(x.dtype)}{_shape(x.shape)}"
    if x.first and not brief:
        text += f" = {x.first}"
    if x.traced:
        return say("traced", lang, array=text)
    spec = x.placement.spec if x.placement else None
    if not x.placement:
        return text if brief else say("numpy", lang, array=text)
    if x.count == 1:
        return text if brief else say("one-device", lang, array=text)
    if x.placement.copies:
        return text if brief else say("copies", lang, array=text, count=x.count)
    if brief:
        return text + (f" {spec_text(spec)}" if spec is not None else "")
    if spec and any(spec):
        return say("spec", lang, array=text, spec=spec_text(spec), count=x.count)
    return say("split", lang, array=text, count=x.count)


def _dtype(name: str) -> str:
    word, bits = re.match(r"([a-z]+)(.*)", name).groups()  # type: ignore[union-attr]
    return SHORT[word] + bits if word in SHORT and bits.isdigit() else name


def _shape(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _line(label: str, text: str, lang: str) -> str:
    return f"{say('label-' + label, lang)}  {text}"


def _difference(found: Difference | PrintedDifference, lang: str) -> list[str]:
    if isinstance(found, PrintedDifference):
        texts = [
            say("printed-text", lang, text=repr(t[:200])) if t else say("printed-nothing", lang)
            for t in (found.got, found.expected)
        ]
        lines = [_line(label, text, lang) for label, text in zip(("got", "expected"), texts, strict=True)]
        return [*lines, say("differs-printed", lang)]
    at = f"{found.path} " if found.path else ""
    lines = [_line("got", at + show(found.got, lang), lang), _line("expected", at + show(found.expected, lang), lang)]
    if found.kind == "placement":
        if found.device is None:
            return lines
        held = {k: _held(v, found.device, lang) for k, v in (("got", found.got), ("expected", found.expected))}
        return [*lines, say("differs-placement", lang, at=found.device, **held)]
    key = {"numbers": "numbers" if found.at else "number"}.get(found.kind, found.kind)
    if key == "type" and isinstance(found.got, Nothing):
        key = "none"
    return [*lines, say(f"differs-{key}", lang, at=found.at, got=found.numbers[0], expected=found.numbers[1])]


def _held(x: Value, device: int, lang: str) -> str:
    """The block that a device holds, as an index: `[0:4, 0:2]`."""
    bounds = x.where.get(device) if isinstance(x, Array) else None
    if bounds is None or not isinstance(x, Array):
        return say("holds-nothing", lang)
    if bounds == tuple((0, n) for n in x.shape):
        return say("holds-all", lang)
    return say("holds-block", lang, block="[" + ", ".join(f"{a}:{b}" for a, b in bounds) + "]")


def _has(traffic: Traffic, lang: str) -> str:
    counted: dict[tuple[str, int], int] = {}
    for transfer in traffic.transfers:
        sort = transfer.op, transfer.bytes
        counted[sort] = counted.get(sort, 0) + (transfer.times or 0)
    if not counted:
        return say("budget-no-traffic", lang)
    items = [
        say("budget-item" if n == 1 else "budget-items", lang, op=op, bytes=number(size), times=n)
        for (op, size), n in counted.items()
    ]
    return (", " if lang == "en" else "、").join(items)


def _allowed(budget: Budget, lang: str) -> str:
    if not budget.ops or not budget.sent:
        return say("budget-nothing", lang)
    ops = (" or " if lang == "en" else " 或 ").join(sorted(budget.ops))
    return say("budget-single" if budget.single else "budget-allowed", lang, bytes=_bytes(budget.sent, lang), ops=ops)


def _bytes(n: int | float, lang: str) -> str:
    return say("bytes-one", lang) if n == 1 else say("bytes", lang, n=number(n))


def _first_lines(text: str, lines: int = 3, most: int = 300) -> str:
    text = "\n".join(text.strip().splitlines()[:lines])
    return text if len(text) <= most else text[:most].rstrip() + " …"


def _stack_lines(stack: str, file: str) -> Sequence[CodeLine]:
    """The learner's lines in faulthandler's traceback, outermost first."""
    numbers = [int(n) for path, n in re.findall(r'File "([^"]+)", line (\d+)', stack) if path == file]
    if not numbers:
        return []
    code = Path(file).read_text(encoding="utf-8").splitlines()
    return [(n, code[n - 1]) for n in reversed(numbers[:2]) if n <= len(code)]


def _shown(path: str, spec: Exercise) -> str:
    """A path as the learner writes it: from the folder above lessons/, when it lies there."""
    p = Path(path)
    return str(p.relative_to(spec.root)) if p.is_relative_to(spec.root) else str(p)
