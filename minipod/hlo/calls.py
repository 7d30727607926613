"""Find which computations call which: every attribute that names a computation is a call, whatever its own name.

Compilers keep inventing such attributes: `to_apply`, `calls`, `called_computations`, `branch_computations` … Only the
operations whose functions work on single elements are left out; these cannot contain a collective.
"""

from collections.abc import Iterator

from minipod.hlo.text import Computation, Instruction, Program, quoted

DEEPEST = 200  # compilers stay below 20; far more would exceed Python's recursion limit
ELEMENTWISE = ("map", "reduce", "reduce-window", "scatter", "select-and-scatter", "sort")
REDUCING = ("all-reduce", "reduce-scatter")


def base(opcode: str) -> str:
    """Return the operation without `-start`: `while` for `while-start`, `async` for `async-start`."""
    return opcode.removesuffix("-start")


def called(program: Program, computation: Computation, instruction: Instruction) -> dict[str, list[str]]:
    """Map each attribute of `instruction`, a line of `computation`, to the computations that the instruction runs.

    The update and the done of an asynchronous operation run nothing, because its start runs it all. Raises ValueError,
    quoting the line, for a computation that is not in the text.
    """
    opcode = instruction.opcode
    if opcode.endswith(("-update", "-done")) or base(opcode) in (*ELEMENTWISE, *REDUCING):
        return {}
    calls_by_attribute = {}
    for key, names in instruction.references.items():
        if key == "control-predecessors":  # these are instructions
            continue
        if calls := [name for name in names if name in program.computations]:
            calls_by_attribute[key] = calls
        for name in names:
            if instruction.signed and name not in program.computations and name not in computation:
                raise quoted(f"the computation {name} is not in this text", instruction.line)
    return calls_by_attribute


def handed_over(computation: Computation, line: Instruction) -> tuple[str, ...]:
    """Return the names of a call's arguments; if a start has no operands, they are those of its update."""
    if line.opcode.endswith("-start") and not line.operands:
        updates = (i for i in computation.values() if i.opcode.endswith("-update"))
        return next((i.operand_names[1:] for i in updates if i.operand_names[:1] == (line.name,)), ())
    return line.operand_names


def callees_first(program: Program, start: str) -> list[str]:
    """Return `start` and all computations that it calls, each after those that it calls itself.

    Raises ValueError if one calls itself, or they are nested more than `DEEPEST` deep.
    """

    def calls(name: str) -> Iterator[tuple[str, Instruction]]:
        computation = program.computations[name]
        for instruction in computation.values():
            for names in called(program, computation, instruction).values():
                yield from ((callee, instruction) for callee in names)

    depth: dict[str, int] = {}  # of the finished ones, in the order in which they finished
    path, deepest = {start: calls(start)}, {start: 0}
    while path:
        name = next(reversed(path))
        for callee, instruction in path[name]:
            if callee in path:
                raise quoted(f"the computation {callee} calls itself", instruction.line)
            if callee not in depth:
                path[callee], deepest[callee] = calls(callee), 0
                break
            deepest[name] = max(deepest[name], depth[callee])
        else:
            del path[name]
            depth[name] = deepest[name] + 1
            if path:
                caller = next(reversed(path))
                deepest[caller] = max(deepest[caller], depth[name])
    if depth[start] > DEEPEST:
        raise ValueError(
            f"the computations of this program are nested {depth[start]} deep, but minipod reads at most {DEEPEST} "
            "levels"
        )
    return list(depth)
