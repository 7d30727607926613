"""Recorded programs written otherwise, by machine: what they send stays the same."""

import random
import re
from pathlib import Path

from minipod.hlo.ops import OPS
from minipod.hlo.text import Computation, Instruction, parse, split

DATA = Path(__file__).parents[1] / "data"

# How an operation becomes an asynchronous call of a computation: the start, perhaps an update, the done. The first is
# what libtpu 0.0.42 writes, the second what libtpu 0.0.52 does, whose start has no operands yet. The next two are XLA's
# grammar, though no compiler at hand writes them; the last is ours.
SPELLINGS = {
    "call": ("call-start({operands}), to_apply={name}", "call-done({begun})"),
    "custom-call": (
        'custom-call-start(), custom_call_target="later", called_computations={{{name}}}',
        "custom-call-update({begun}, {operands})",
        "custom-call-done({begun})",
    ),
    "async": (
        "async-start({operands}), calls={name}",
        "async-update({begun}), calls={name}",
        "async-done({begun}), calls={name}",
    ),
    "fusion": ("fusion-start({operands}), kind=kCustom, calls={name}", "fusion-done({begun})"),
    "unknown": ("handed-over-start({operands}), runs={{{{}}, {name}}}", "handed-over-done({begun})"),
}


def recordings() -> dict[str, str]:
    """Every recorded program's text by its name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*.hlo"))}


def wrapped(text: str, spelling: str, opcodes: tuple[str, ...] = OPS) -> str:
    """`text` with each of these operations in a computation of its own that is called asynchronously."""
    computations, current, top, lines = parse(text).computations, Computation(), 0, []
    for line in text.splitlines():
        if header := re.match(r"(?:ENTRY )?%(\S+) \(.*\{$", line):
            current, top = computations[header[1]], len(lines)
        written = re.match(r" +(?:ROOT )?%(\S+) = ", line)
        instruction = current.get(written[1]) if written else None
        if instruction and instruction.opcode.removesuffix("-start") in opcodes:
            inner, outer = _called(current, instruction, spelling)
            lines[top:top] = inner
            top += len(inner)
            lines += outer
        elif not (instruction and instruction.opcode.endswith("-done") and instruction.opcode[:-5] in opcodes):
            lines.append(line)
    return "\n".join(lines) + "\n"


def _called(current: Computation, line: Instruction, spelling: str) -> tuple[list[str], list[str]]:
    """The computation with the operation in it, and the lines that call it."""
    last = line
    if line.opcode.endswith("-start"):  # its done becomes the end of the call
        last = next(i for i in current.values() if i.opcode.endswith("-done") and line.name in i.operand_names)
    shapes, name = [operand.shape for operand in current.operands(line)], f"%wrapped.{line.name}"
    parameters = [f"%in.{i}.{line.name}" for i in range(len(shapes))]
    inner = [f"{name} () -> {last.shape} {{"]
    inner += [f"  {p} = {shape} parameter({i})" for i, (p, shape) in enumerate(zip(parameters, shapes, strict=True))]
    operation = f"{line.opcode.removesuffix('-start')}({', '.join(parameters)})"
    inner += [f"  ROOT %out.{line.name} = {last.shape} {operation}{', ' * bool(line.rest)}{line.rest}", "}", ""]
    outer, begun, operands = [], "", ", ".join(f"%{name}" for name in line.operand_names)
    for i, step in enumerate(SPELLINGS[spelling], 1):
        ends = i == len(SPELLINGS[spelling])
        result = f"%{last.name}" if ends else f"%begun.{i}.{line.name}"
        shape = last.shape if ends else f"(({', '.join(shapes)}), {last.shape}, u32[])"
        root = "ROOT " * (last.root and ends)
        outer.append(f"  {root}{result} = {shape} {step.format(operands=operands, name=name, begun=begun)}")
        begun = result
    return inner, outer


def reordered(text: str, chance: random.Random) -> str:
    """`text` with the attributes of every instruction in another order."""
    instructions = {i.line: i for c in parse(text).computations.values() for i in c.values()}
    lines = []
    for line in text.splitlines():
        instruction = instructions.get(line.strip())
        if instruction and instruction.rest and line.endswith(instruction.rest):
            attributes = split(instruction.rest)
            chance.shuffle(attributes)
            line = line.removesuffix(instruction.rest) + ", ".join(attributes)
        lines.append(line)
    return "\n".join(lines) + "\n"


def renamed(text: str, chance: random.Random) -> str:
    """`text` with other names for all instructions and computations."""
    names = sorted(set(re.findall(r"%[\w.-]+", text)))
    new = [f"%n{i}" for i in range(len(names))]
    chance.shuffle(new)
    to = dict(zip(names, new, strict=True))
    return re.sub(r"%[\w.-]+", lambda name: to[name[0]], text)


_TOKEN = re.compile(r"%?[\w.-]+|[^\w\s]")


def damaged(text: str, random: random.Random) -> str:
    """`text` with one or two things in it changed, as a compiler not seen before or a bad copy might have it."""
    for _ in range(random.choice((1, 1, 2))):
        lines = text.splitlines()
        i, j = (random.randrange(len(lines)) for _ in range(2))
        one, other = (random.choice(list(_TOKEN.finditer(text))) for _ in range(2))
        match random.randrange(6):
            case 0:  # a line is missing
                del lines[i]
            case 1:  # two lines have changed places
                lines[i], lines[j] = lines[j], lines[i]
            case 2:  # the end of a line is missing
                lines[i] = lines[i][: random.randrange(len(lines[i]) + 1)]
            case 3:  # a word is missing
                lines = (text[: one.start()] + text[one.end() :]).splitlines()
            case 4:  # a word is another
                lines = (text[: one.start()] + other[0] + text[one.end() :]).splitlines()
            case 5:  # a number is another
                n = random.choice(list(re.finditer(r"\d+", text)))
                number = random.choice(("0", "1", "3", "7", "64", "1000000", "-1", "x"))
                lines = (text[: n.start()] + number + text[n.end() :]).splitlines()
        text = "\n".join(lines) + "\n" if lines else "\n"
    return text
