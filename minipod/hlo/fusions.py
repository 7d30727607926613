"""What a fusion touches of the arrays that it is given and that it makes: all of one, rows of it, or nothing.

Fusions stand in fusions: a slice taken in one of them is all that is read of the stacked weights of a loop over layers.
"""

from collections.abc import Iterator
from fractions import Fraction

from minipod.hlo.calls import called
from minipod.hlo.kernels import kernel
from minipod.hlo.ops import begins
from minipod.hlo.text import Computation, Instruction, Program, size

_SLICES = ("slice", "dynamic-slice", "gather")
_THROUGH = ("bitcast", "bitcast-convert", "convert", "copy", "reshape", "transpose")  # element by element
_IN_PLACE = ("dynamic-update-slice", "scatter")
NOTHING, ALL = Fraction(0), Fraction(1)


def combines(program: Program, scatter: Instruction) -> bool:
    """Does it need what was there before, as a sum does? One that overwrites returns its second parameter."""
    names = scatter.references.get("to_apply", [])
    inside = program.computations.get(names[0]) if names else None
    return not inside or inside.root.opcode != "parameter"


class Fusion:
    """The fusion `line`, which stands in `computation`; in another fusion, `around` is that."""

    def __init__(self, program: Program, computation: Computation, line: Instruction, around: "Fusion | None" = None):
        self.program, self.line, self.around = program, line, around
        self.inside = program.computations[called(program, computation, line)["calls"][0]]
        self.root = self.inside.root
        self.aliased = "output_to_operand_aliasing" in line.attributes  # a copy in it copies nothing
        self.users: dict[str, list[Instruction]] = {}  # operands stand before what uses them
        for each in self.inside.values():
            for name in dict.fromkeys(each.operand_names):
                if name in self.users:
                    self.users[name].append(each)
            self.users[each.name] = []

    def parameters(self) -> Iterator[tuple[Instruction, int]]:
        """Its parameters, each with its number."""
        return ((line, int(line.operands[0])) for line in self.inside.values() if line.opcode == "parameter")

    def results(self) -> list[Instruction]:
        """What makes its result: of a tuple, its elements."""
        if self.root.opcode != "tuple":
            return [self.root]
        return [self.inside[name] for name in self.root.operand_names if name in self.inside]

    def read(self, name: str, changed: bool = False) -> Fraction:
        """How much of the array `name` is read; `changed`: it has been converted, or laid out anew, on its way here."""
        parts = [self._read_by(user, name, changed) for user in self.users[name]]
        parts += [self._handed_on(i, changed) for i, line in enumerate(self.results()) if line.name == name]
        return min(ALL, sum(parts, NOTHING))

    def _read_by(self, user: Instruction, name: str, changed: bool) -> Fraction:
        first = user.operand_names[0] == name
        if user.opcode in _SLICES and first:
            return _share(user, self.inside[name])
        if user.opcode in _IN_PLACE and first:
            again = self._updated(user) if user.opcode == "scatter" and combines(self.program, user) else NOTHING
            return again + self.read(user.name, changed)
        if user.opcode in _THROUGH:
            return self.read(user.name, changed or not self._same(user))
        if user.opcode == "fusion":
            within = Fusion(self.program, self.inside, user, self)
            given = [line.name for line, i in within.parameters() if user.operand_names[i : i + 1] == (name,)]
            return sum((within.read(parameter, changed) for parameter in given), NOTHING)
        if user.opcode == "tuple" or begins(user):
            return NOTHING
        if user.opcode == "custom-call":
            return _touched_by(user)
        return ALL

    def _handed_on(self, i: int, changed: bool) -> Fraction:
        """What is read of an array because it is result `i`: nothing, if it lies where it lay."""
        if not self.around:
            return ALL if changed else NOTHING
        if self.root.opcode != "tuple":
            return self.around.read(self.line.name, changed)
        users = self.around.users[self.line.name]
        elements = [user.name for user in users if user.attributes.get("index") == str(i)]
        return sum((self.around.read(element, changed) for element in elements), NOTHING)

    def written(self, line: Instruction) -> Fraction:
        """How much of the array that `line` makes is new: nothing of what is handed on, rows of what is updated."""
        if self._same(line):
            return self._before(line)
        if line.opcode in _IN_PLACE:
            return min(ALL, self._updated(line) + self._before(line))
        if line.opcode == "fusion":
            return Fusion(self.program, self.inside, line, self)._made(0)
        if line.opcode == "get-tuple-element" and (made := self.inside.get(line.operand_names[0])):
            i = int(line.attributes["index"])
            return Fusion(self.program, self.inside, made, self)._made(i) if made.opcode == "fusion" else ALL
        if line.opcode == "parameter":
            i = int(line.operands[0])
            given = self.around and self.around.inside.get("".join(self.line.operand_names[i : i + 1]))
            return self.around.written(given) if self.around and given else NOTHING
        if line.opcode == "custom-call":
            return _touched_by(line)
        return NOTHING if begins(line) else ALL

    def _made(self, i: int) -> Fraction:
        return self.written(self.results()[i])

    def _before(self, line: Instruction) -> Fraction:
        """Of the first operand, where that stands before `line`."""
        name = line.operand_names[0]
        return self.written(self.inside[name]) if line in self.users.get(name, ()) else ALL

    def _same(self, line: Instruction) -> bool:
        """Is the array that `line` makes the one that it is given?"""
        return line.opcode == "bitcast" or (line.opcode == "copy" and self.aliased)

    def _updated(self, line: Instruction) -> Fraction:
        """The part of an array that an update in place touches."""
        update = line.operand_names[1 if line.opcode == "dynamic-update-slice" else -1]
        return _share(self.inside[update], self.inside[line.operand_names[0]])


def _touched_by(call: Instruction) -> Fraction:
    """A kernel says itself how much it reads and writes, or does not; other custom calls in fusions are only signs."""
    called_here = kernel(call)
    return ALL if called_here and not called_here.moved else NOTHING


def _share(part: Instruction, whole: Instruction) -> Fraction:
    """How much of an array another one is that is cut from it."""
    count = size(whole.shape)
    return min(ALL, Fraction(size(part.shape), count)) if count else NOTHING
