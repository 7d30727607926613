"""Explain a verdict in words: first the likely reason, then the call, the result and the expected value."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from grader.exercise.lesson_words import exercise_words
from grader.exercise.spec import Budget
from grader.exercise.spec import Spec as Exercise
from grader.judge.calls import OtherCalls
from grader.judge.compare import Difference, PrintedDifference
from grader.judge.verdict import Verdict
from grader.messages import Message, number, pick, say
from grader.say import shown
from grader.say.errors import abridged
from grader.say.shown import show
from grader.see.array_values import Array
from grader.see.observation import CodeLine, Traffic
from grader.see.values import Nothing, Text, Value

MOST_CALLS = 2  # of one function, that are shown
# What need not be said where there is more to say.
OBVIOUS = {f"differs-{kind}" for kind in ("equal", "type", "none", "keys", "length")}


def explain(spec: Exercise, verdict: Verdict, limit: float, memory: float, lang: str) -> str:
    """Return the whole explanation, in several lines without colour; empty for a right answer that deleted nothing."""
    lost = [say(verdict.deleted.key, lang, **verdict.deleted.values)] if verdict.deleted else []
    if verdict.outcome == "right":
        return "\n".join(lost)
    file = _shown(verdict.file, spec)
    called, lines = [], []
    if verdict.args is not None:
        call = shown.call(spec.name, verdict.args, lang)
        if verdict.process is not None:
            call += " · " + say("process", lang, process=verdict.process)
        called.append(_line("called", call, lang))
    case, diagnosis = verdict.observation, _diagnosis(spec, verdict, lang)
    if verdict.difference:
        key, lines, remark = _difference(verdict.difference, verdict.none, lang)
        remark = "" if diagnosis and key in OBVIOUS else remark
    elif verdict.reason == "budget" and case and case.budget and isinstance(case.traffic, Traffic):
        sent = _bytes(case.traffic.total or 0, lang)
        has, allowed = _has(case.traffic, lang), _allowed(case.budget, lang)
        remark = say("budget", lang, sent=sent, has=has, allowed=allowed)
    elif verdict.reason == "raised" and (error := verdict.failure):
        text = abridged(error.text, error.more)
        raised = say("raised" if text else "raised-bare", lang, type=error.type, text=text)
        lines, remark = [_line("got", raised, lang)], ""
        if error.names:
            each = (f"{name} = {show(x, lang, brief=True)}" for name, x in error.names)
            lines.append(_line("names", say("list-semicolon", lang).join(each), lang))
    else:
        key = {"todo": "todo-text"}.get(verdict.reason, verdict.reason)
        if key == "load" and verdict.failure and not verdict.failure.text.strip():
            key = "load-bare"
        elif key == "memory" and memory == math.inf:
            key = "memory-device"
        values: dict[str, object] = {"file": file, "line": verdict.line, "lesson": spec.lesson, "name": spec.name}
        values |= {"memory": f"{memory:g}", "limit": f"{limit:g}", "process": verdict.process}
        values |= verdict.because.values
        values["file"] = _shown(str(values["file"]), spec)
        remark = say(key, lang, **{k: abridged(v) if isinstance(v, str) else v for k, v in values.items()})
    # Each line once: a comprehension has a frame of its own.
    code_lines = dict.fromkeys(verdict.code or _stack_lines(verdict.stack, verdict.file))
    where = [_line("where", say("where", lang, file=file, line=n, code=code.strip()), lang) for n, code in code_lines]
    first, last = (diagnosis, remark) if diagnosis else (remark, "")
    moved = [say("unmoved", lang, places=_either(verdict.unmoved, lang))] if verdict.unmoved else []
    moved += [_other_calls(each, lang) for each in verdict.calls]
    beside = [] if verdict.mistake or verdict.likely or verdict.together else _right_on(spec, verdict, called, lang)
    # pyrefly: ignore[no-matching-overload]
    return "\n".join(filter(None, [first, *moved, *called, *lines, *beside, last, *where, *lost]))


def _other_calls(difference: OtherCalls, lang: str) -> str:
    mine, theirs = (
        say("list-semicolon", lang).join(shown.arrays(call.on, lang) for call in calls[:MOST_CALLS])
        for calls in (difference.mine, difference.theirs)
    )
    return say("called-on" if mine else "never-called", lang, name=difference.name, mine=mine, theirs=theirs)


def _right_on(spec: Exercise, verdict: Verdict, called: list[str], lang: str) -> list[str]:
    """Return a call with the right result, for comparison with the wrong one."""
    args = verdict.near.values.get("args") if verdict.near else None
    if not isinstance(args, tuple) or not args:
        return []
    text = shown.call(spec.name, args, lang)
    return [] if called and text in called[0] else [_line("right", text, lang)]


def _either(places: Sequence[str], lang: str) -> str:
    """Join pieces of code with commas, and "or" before the last one."""
    *more, last = (f"`{place}`" for place in places)
    return say("list-or", lang).join(filter(None, [say("list-comma", lang).join(more), last]))


def _diagnosis(spec: Exercise, verdict: Verdict, lang: str) -> str:
    """Return the known reason why the answer may be wrong: a mistake, a likely mistake, or a near miss."""
    if verdict.together:
        each = "\n".join(f"· {mistake_words(spec, mistake, lang)}" for mistake in verdict.together)
        return say("together", lang, n=len(verdict.together)) + "\n" + each
    if mistake := verdict.mistake or verdict.likely:
        key = "mistake" if verdict.mistake else "likely-part" if verdict.partly else "likely"
        return mistake_words(spec, mistake, lang, key)
    return near_words(verdict.near, lang) if verdict.near else ""


def mistake_words(spec: Exercise, mistake: str, lang: str, key: str = "mistake") -> str:
    """Return the message with the name and the explanation of a known mistake, from words.toml."""
    words = exercise_words(spec.folder.parent, spec.exercise).mistakes.get(mistake)
    if not (words and words.name and words.text):
        return mistake
    return say(key, lang, name=pick(words.name, lang), text=pick(words.text, lang))


def near_words(near: Message, lang: str) -> str:
    """Return the sentence of a near miss; a value to fill in may itself be a message, or a tuple of texts."""

    def words(value: object) -> object:
        if isinstance(value, tuple):
            return say("list-comma", lang).join(map(str, value))
        return near_words(value, lang) if isinstance(value, Message) else value

    key = near.key if near.key.startswith("error-") else f"near-{near.key}"
    return say(key, lang, **{k: words(v) for k, v in near.values.items()})


def _line(label: str, text: str, lang: str) -> str:
    return f"{say('label-' + label, lang)}  {text}"


def _difference(difference: Difference | PrintedDifference, none: bool, lang: str) -> tuple[str, list[str], str]:
    """Return the description of a difference: a message's key, the result, the expected value, and the message.

    none  whether None is the right result for some inputs
    """
    if isinstance(difference, PrintedDifference):
        texts = [
            say("printed-text", lang, text=repr(t[:200])) if t else say("printed-nothing", lang)
            for t in (difference.got, difference.expected)
        ]
        lines = [_line(label, text, lang) for label, text in zip(("got", "expected"), texts, strict=True)]
        return "differs-printed", lines, say("differs-printed", lang)
    if difference.kind == "copies":
        at = f"result{difference.path}: " if difference.path else ""
        numbers = shown.around(difference.got, difference.at) if difference.at else ""
        lines = [_line("got", at + show(difference.got, lang, numbers=numbers), lang)]
        where = say("copies-at", lang, at=difference.at) if difference.at else ""
        got, expected = difference.numbers
        values = {
            "where": where,
            "device": difference.device,
            "first": difference.first,
            "got": got,
            "expected": expected,
        }
        return "differs-copies", lines, say("differs-copies", lang, **values)
    path, *row = difference.inside or (difference.path,)
    at = f"result{path}: " if path else ""
    got, expected = (show(x, lang) for x in row) if row else _beside(difference, lang)
    if difference.kind == "placement" and difference.device is not None:
        held = {
            k: _held(v, difference.device, lang)
            for k, v in (("got", difference.got), ("expected", difference.expected))
        }
        key, values = "placement", {"at": difference.device, **held}
    else:
        key = "equal" if difference.kind == "numbers" and not difference.at else difference.kind
        values = {"at": difference.at, "got": difference.numbers[0], "expected": difference.numbers[1]}
    if key in ("type", "equal") and isinstance(difference.got, Nothing):
        key = "none-here" if none else "none"
    elif key in ("type", "equal") and isinstance(difference.expected, Nothing):
        key = "none-expected"
    lines = [_line("got", at + got, lang), _line("expected", at + expected, lang)]
    remark = "" if key == "placement" and difference.device is None else say(f"differs-{key}", lang, **values)
    return f"differs-{key}", lines, remark


def _beside(difference: Difference, lang: str) -> tuple[str, str]:
    """Describe both parts, never in the same words: the numbers around the difference, or all that is known."""
    both = difference.got, difference.expected
    if difference.at:
        a, b = (show(x, lang, numbers=shown.around(x, difference.at)) for x in both)
    else:
        a, b = (show(x, lang) for x in both)
    if a == b and difference.numbers[0] != difference.numbers[1]:  # which show the same in four digits
        told = (f"{difference.at} = {number}".strip() for number in difference.numbers)
        a, b = (show(x, lang, numbers=text) for x, text in zip(both, told, strict=True))
    if a == b and difference.device is not None:
        a, b = (
            f"{t} · {say('on-device', lang, device=difference.device, held=_held(x, difference.device, lang))}"
            for t, x in zip((a, b), both, strict=True)
        )
    if a == b and isinstance(difference.got, Text) and isinstance(difference.expected, Text):
        texts = difference.got.text, difference.expected.text
        first = next((n for n, (x, y) in enumerate(zip(*texts, strict=False)) if x != y), min(map(len, texts)))
        a, b = ("… " + repr(t[max(0, first - 20) : first + 60]) for t in texts)
    if a == b:
        a, b = (f"{text} ({x.kind})" for text, x in zip((a, b), both, strict=True))
    return (a, b) if a != b else (str(both[0])[:300], str(both[1])[:300])


def _held(x: Value, device: int, lang: str) -> str:
    """Return the block that a device holds, as an index: `[0:4, 0:2]`."""
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
    items = [
        say("budget-item" if n == 1 else "budget-items", lang, op=op, bytes=_bytes(size, lang), times=n)
        for (op, size), n in counted.items()
    ]
    return say("list-comma", lang).join(items)


def _allowed(budget: Budget, lang: str) -> str:
    if not budget.ops or not budget.sent:
        return say("budget-nothing", lang)
    ops = say("list-or", lang).join(sorted(budget.ops))
    return say("budget-single" if budget.single else "budget-allowed", lang, bytes=_bytes(budget.sent, lang), ops=ops)


def _bytes(n: int | float, lang: str) -> str:
    return say("bytes-one", lang) if n == 1 else say("bytes", lang, n=number(n))


def _stack_lines(stack: str, file: str) -> Sequence[CodeLine]:
    """Return the learner's lines in faulthandler's traceback, outermost first."""
    numbers = [int(n) for path, n in re.findall(r'File "([^"]+)", line (\d+)', stack) if path == file]
    if not numbers:
        return []
    code = Path(file).read_text(encoding="utf-8").splitlines()
    return [(n, code[n - 1]) for n in reversed(numbers[:2]) if n <= len(code)]


def _shown(path: str, spec: Exercise) -> str:
    """Return a path as the learner writes it: relative to the folder above lessons/, if it lies there."""
    p = Path(path)
    return str(p.relative_to(spec.root)) if p.is_relative_to(spec.root) else str(p)
