"""Parse the text of a compiled program (HLO) into computations and their instructions.

JAX gives a compiled program's instructions only as text, `compiled.as_text()`. This module reads its grammar
and knows nothing of collectives. Source: openxla.org/xla/hlo_dumps and XLA's own printer.
"""

import contextlib
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Bits of one element. An unknown type is an error, never a guess.
BITS = {"pred": 8, "token": 0, "opaque": 0}
BITS |= {f"{kind}{n}": n for kind in "su" for n in (1, 2, 4, 8, 16, 32, 64)}
BITS |= {"bf16": 16, "f16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128}
FLOAT_IN_A_NAME = re.compile(r"f(4|6|8)e\d+m\d+\w*")  # f8e4m3fn, f8e8m0fnu, f4e2m1fn …

_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'')
_TOKEN = re.compile(_STRING.pattern + r"|[(){}\[\],]")  # strings are passed over whole
_COMMENT = re.compile(r"/\*index=\d+\*/")
_HEADER = re.compile(r"(ENTRY )?%?([^\s(]+)( \(.*)? \{$")
_BEGINS = re.compile(r"\s+(ROOT )?%?[^\s=]+ = ")
_FOR_PARTITIONERS = re.compile(r'xla\.sdy\.|custom_call_target="(SPMD|Sharding")')
_ARRAY = re.compile(r"(\w+)\[([^\]]*)\]")
_SIGNED_NAME = re.compile(r'"(?:\\.|[^"\\])*"|%([^\s,{}()\[\]="]+)')
_NAME = re.compile(r'"(?:\\.|[^"\\])*"|([^\s,{}()\[\]="]+)')


def split(text: str) -> list[str]:
    """Split `text` at the commas outside brackets and strings."""
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        if token[0] in "({[":
            depth += 1
        elif token[0] in ")}]":
            depth -= 1
        elif token[0] == "," and depth == 0:
            parts.append(text[start : token.start()].strip())
            start = token.end()
    return [*parts, text[start:].strip()] if text[start:].strip() else parts


def closing(text: str, start: int) -> int:
    """Return the position after the bracket that closes the one at `start`. Raises ValueError if none does."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "({[") - (token[0] in ")}]")
        if depth == 0:
            return token.end()
    raise ValueError("a bracket is never closed")


def bits(dtype: str) -> int | None:
    """Return the bits of one element of `dtype`, spelled as in XLA; None for an unknown type."""
    return int(m[1]) if (m := FLOAT_IN_A_NAME.fullmatch(dtype)) else BITS.get(dtype)


def size(shape: str) -> int:
    """Return the bytes of an array, or of a tuple's arrays: 64 for `"f32[2,8]{1,0}"`, 10 for `"(f32[2], s4[3])"`.

    Layouts and padding do not count; elements smaller than a byte are packed; a bounded size counts as its bound.
    Raises ValueError for an unknown element type, and for a text that is not a shape.
    """
    total = 0
    for dtype, dimensions in _ARRAY.findall(re.sub(r"\{[^}]*\}", "", shape)):
        if (each := bits(dtype)) is None:
            raise ValueError(f"the element type {dtype} is not known")
        total += -(-each * math.prod(int(d.strip().removeprefix("<=")) for d in split(dimensions)) // 8)
    if not total and not _ARRAY.search(shape) and shape.strip() not in ("()", "token"):
        raise ValueError(f"{shape} is not a shape")
    return total


@dataclass(frozen=True)
class Instruction:
    """One line of a program. operands, rest: as printed. line: the whole line, for quotations."""

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    rest: str
    line: str
    root: bool

    @cached_property
    def attributes(self) -> dict[str, str]:
        """Return what follows the operands: `{"channel_id": "1", "to_apply": "%add", …}`."""
        pairs = (part.partition("=") for part in split(self.rest))
        return {key: value for key, _, value in pairs}

    @cached_property
    def operand_names(self) -> tuple[str, ...]:
        """Return the names of the instructions that make the operands; in older texts, shapes precede the names."""
        return tuple(operand.rpartition(" ")[2].removeprefix("%") for operand in self.operands)

    @property
    def signed(self) -> bool:
        """Return whether the text has a % before names, as `as_text()` writes it; XLA's short form does not."""
        return self.line.removeprefix("ROOT ").startswith("%")

    @cached_property
    def references(self) -> dict[str, list[str]]:
        """Map attribute → names in it: `{"branch_computations": ["a", "b"]}`. Without signs, any word may be a name."""
        if self.signed and "%" not in self.rest:
            return {}
        names = _SIGNED_NAME if self.signed else _NAME
        by_attribute = {key: [m[1] for m in names.finditer(value) if m[1]] for key, value in self.attributes.items()}
        return {key: names for key, names in by_attribute.items() if names}


class Computation(dict[str, Instruction]):
    """The instructions of one computation by name, in order."""

    def operands(self, instruction: Instruction) -> list[Instruction]:
        """Return the instructions that make the operands. Raises KeyError if one is not in this computation."""
        return [self[name] for name in instruction.operand_names]

    @property
    def root(self) -> Instruction:
        """Return the instruction whose value is the result: the one marked ROOT, or else the last."""
        return next((i for i in self.values() if i.root), list(self.values())[-1])


@dataclass(frozen=True)
class Program:
    """A compiled program. It runs as `replicas` × `partitions` copies; `jax.jit` uses only partitions."""

    computations: dict[str, Computation]
    entry: str
    replicas: int
    partitions: int


def parse_instruction(line: str) -> Instruction:
    """Parse `%name = shape opcode(operands), attribute=value, …`. Raises ValueError for any other line."""
    left, equals, right = _COMMENT.sub("", line).strip().partition(" = ")
    if not equals:
        raise ValueError('this line of a compiled program is not "name = shape operation(…)"')
    end = closing(right, 0) if right.startswith("(") else right.find(" ")
    shape, right = right[:end], right[end:].strip()
    opcode, bracket, _ = right.partition("(")
    if not bracket or not re.fullmatch(r"[\w-]+", opcode):
        raise ValueError('this line of a compiled program is not "name = shape operation(…)"')
    end = closing(right, len(opcode))
    operands, rest = right[len(opcode) + 1 : end - 1], right[end:].lstrip(", ")
    # A constant's value may be long and is no list of operands.
    names = (operands,) if opcode in ("constant", "parameter") else tuple(split(operands))
    root = left.startswith("ROOT ")
    return Instruction(left.removeprefix("ROOT ").removeprefix("%"), shape, opcode, names, rest, line.strip(), root)


def quoted(reason: object, line: str) -> ValueError:
    """Return the ValueError for a line that cannot be read: the reason and the line, truncated if it is long."""
    line = line.strip()
    return ValueError(f"{reason}: {line if len(line) <= 300 else line[:299] + '…'}")


@contextlib.contextmanager
def reading(line: Instruction) -> Iterator[None]:
    """Turn an error in this block, such as a missing part of the line, into a ValueError that quotes the line."""
    try:
        yield
    except (ValueError, LookupError, ArithmeticError) as reason:
        # pyrefly: ignore[no-matching-overload]
        why = {KeyError: f"there is no {reason}", IndexError: "a part of it is missing"}.get(type(reason), str(reason))
        raise quoted(f"this {line.opcode} cannot be read ({why})", line.line) from None


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, with the lines of one instruction joined: a kernel's attributes may span several.

    Raises ValueError, quoting the first line, for an instruction in which a bracket is never closed.
    """
    first, whole, depth = "", "", 0
    for line in text.splitlines():
        begins = bool(_BEGINS.match(line))
        if whole and (begins or line == "}"):
            break
        if not whole and not begins:
            yield line
            continue
        first, whole = first or line, whole + line
        bare = _STRING.sub("", line)
        depth += sum(map(bare.count, "({[")) - sum(map(bare.count, ")}]"))
        if depth <= 0:
            yield whole
            first, whole, depth = "", "", 0
    if whole:
        raise quoted("a bracket is never closed", first)


def from_file(file: str) -> str:
    """Return the text in a file, or, for "-", on standard input. Raises OSError, and ValueError if it is not text."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not text: give the output of `compiled.as_text()`") from None


def parse(text: str) -> Program:
    """Read `compiled.as_text()`. Raises ValueError for anything else, quoting the line if one is wrong."""
    computations: dict[str, Computation] = {}
    entry, current, header = "", None, ""
    for line in _lines(text):
        if current is None:
            if line.startswith("HloModule"):
                header = line
            elif heading := _HEADER.match(line):
                if heading[2] in computations or heading[1] and entry:
                    raise quoted("this text contains more than one program: give the text of one", line)
                current = computations[heading[2]] = Computation()
                entry = heading[2] if heading[1] else entry
        elif line.startswith("}"):
            current = None
        elif line.strip():
            try:
                instruction = parse_instruction(line)
            except ValueError as reason:
                raise quoted(reason, line) from None
            current[instruction.name] = instruction
    if not header or not entry or current is not None:
        raise ValueError(
            "this is not the whole text of a compiled program: give jax.jit(f).lower(…).compile().as_text()"
        )
    if "is_scheduled=true" not in header and _FOR_PARTITIONERS.search(text):  # for one device they may stay
        raise ValueError("this program is lowered but not compiled: give jax.jit(f).lower(…).compile().as_text()")
    counts = {m[1]: int(m[2]) for m in re.finditer(r"\b(replica_count|num_partitions)=(\d+)", header)}
    return Program(computations, entry, counts.get("replica_count", 1), counts.get("num_partitions", 1))
