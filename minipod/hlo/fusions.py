"""Find the part of each array that a fusion reads or writes: the whole array, some rows, or nothing.

Fusions may be nested: in a loop over layers, only the slice of the stacked weights that an inner fusion takes is read.
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
    """Return whether `scatter` reads what it updates, as a sum does, rather than overwriting it."""
    names = scatter.references.get("to_apply", [])
    inside = program.computations.get(names[0]) if names else None
    return not inside or inside.root.opcode != "parameter"


class Fusion:
    """The fusion `line` of `computation`. around: the fusion that contains it, if there is one."""

    def __init__(self, program: Program, computation: Computation, line: Instruction, around: "Fusion | None" = None):
        self.program, self.line, self.around = program, line, around
        self.inside = program.computations[called(program, computation, line)["calls"][0]]
        self.aliased = "output_to_operand_aliasing" in line.attributes  # then a copy in it copies nothing
        root = self.inside.root
        self.tuple = root.opcode == "tuple"
        self.results = [self.inside[name] for name in root.operand_names] if self.tuple else [root]
        self.users: dict[str, list[Instruction]] = {}  # operands come before their users
        for each in self.inside.values():
            for name in dict.fromkeys(each.operand_names):
                if name in self.users:
                    self.users[name].append(each)
            self.users[each.name] = []
        self.nested: dict[str, Fusion] = {}
        self._new: dict[str, Fraction] = {}
        self._read: dict[tuple[str, bool], Fraction] = {}
        for name in reversed(self.users):  # users first
            for changed in (False, True):
                self._read[name, changed] = self._read_of(name, changed)

    def parameters(self) -> Iterator[tuple[Instruction, int]]:
        """Yield the parameters, each with its number."""
        return ((line, int(line.operands[0])) for line in self.inside.values() if line.opcode == "parameter")

    def read(self, name: str, changed: bool = False) -> Fraction:
        """Return the share of the array `name` that is read. changed: whether it is converted or laid out anew."""
        return self._read[name, changed]

    def written(self, line: Instruction) -> Fraction:
        """Return the share of the result of `line` that is new: nothing if it is passed on, rows if it is updated."""
        if not self._new:
            for each in self.inside.values():
                self._new[each.name] = self._new_in(each)
        return self._new[line.name]

    def _within(self, line: Instruction) -> "Fusion":
        if line.name not in self.nested:
            self.nested[line.name] = Fusion(self.program, self.inside, line, self)
        return self.nested[line.name]

    def _read_of(self, name: str, changed: bool) -> Fraction:
        parts = [self._read_by(user, name, changed) for user in self.users[name]]
        parts += [self._handed_on(i, changed) for i, line in enumerate(self.results) if line.name == name]
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
            within = self._within(user)
            given = [line.name for line, i in within.parameters() if user.operand_names[i : i + 1] == (name,)]
            return sum((within.read(parameter, changed) for parameter in given), NOTHING)
        if user.opcode == "tuple" or begins(user):
            return NOTHING
        return _touched_by(user) if user.opcode == "custom-call" else ALL

    def _handed_on(self, i: int, changed: bool) -> Fraction:
        """Return the share of an array that is read because it is result `i`: nothing if it stays in place."""
        if not self.around:
            return ALL if changed else NOTHING
        if not self.tuple:
            return self.around.read(self.line.name, changed)
        users = self.around.users[self.line.name]
        elements = [user.name for user in users if user.attributes.get("index") == str(i)]
        return sum((self.around.read(element, changed) for element in elements), NOTHING)

    def _new_in(self, line: Instruction) -> Fraction:
        if self._same(line):
            return self._before(line)
        if line.opcode in _IN_PLACE:
            return min(ALL, self._updated(line) + self._before(line))
        if line.opcode == "fusion":
            within = self._within(line)
            return within.written(within.results[0])
        if line.opcode == "get-tuple-element":
            made = self.inside[line.operand_names[0]]
            within = self._within(made) if made.opcode == "fusion" else None
            return within.written(within.results[int(line.attributes["index"])]) if within else ALL
        if line.opcode == "parameter":
            i = int(line.operands[0])
            return self.around._before(self.line, i) if self.around else NOTHING
        if line.opcode == "custom-call":
            return _touched_by(line)
        return NOTHING if begins(line) else ALL

    def _before(self, line: Instruction, i: int = 0) -> Fraction:
        """Return the share of operand `i` that is new; all of it if it does not come before `line`."""
        return self._new.get(line.operand_names[i], ALL)

    def _same(self, line: Instruction) -> bool:
        """Return whether the array of `line` is its operand."""
        return line.opcode == "bitcast" or (line.opcode == "copy" and self.aliased)

    def _updated(self, line: Instruction) -> Fraction:
        """Return the share of an array that an update in place touches."""
        update = line.operand_names[1 if line.opcode == "dynamic-update-slice" else -1]
        return _share(self.inside[update], self.inside[line.operand_names[0]])


def _touched_by(call: Instruction) -> Fraction:
    """Return ALL for a kernel that states no bytes; NOTHING if it does (counted elsewhere), or for markers."""
    called_here = kernel(call)
    return ALL if called_here and not called_here.moved else NOTHING


def _share(part: Instruction, whole: Instruction) -> Fraction:
    """Return the share of an array that a part of it makes up."""
    count = size(whole.shape)
    return min(ALL, Fraction(size(part.shape), count)) if count else NOTHING
