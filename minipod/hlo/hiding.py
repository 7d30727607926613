"""Find the collectives of a compiled program that could overlap with a matrix product.

`minipod.hlo.overlap` finds what a scheduled program of a TPU or GPU computes between a start and its done. This module
looks only at dependencies, so it also works for the CPU's programs, in which nothing is asynchronous.
"""

from collections.abc import Mapping

from minipod.hlo.calls import called, callees_first
from minipod.hlo.ops import begins
from minipod.hlo.text import Computation, Instruction, Program

PRODUCTS = ("dot", "convolution", "ragged-dot", "scaled-dot")
LIBRARIES = ("matmul", "gemm", "dot", "conv")  # in the target of a custom call


def exposed(program: Program) -> list[Instruction]:
    """Return the collectives (for asynchronous ones, the starts) that cannot overlap with a product, in text order.

    A product can overlap with a collective if it is in the same computation, so in the same iteration of the same loop,
    and neither depends on the other. A fusion, call, loop or branch that contains a product counts as one.
    """
    callees = callees_first(program, program.entry)
    multiplies: set[str] = set()
    for name in callees:  # each after those that it calls
        if any(_is_product(program, name, line, multiplies) for line in program.computations[name].values()):
            multiplies.add(name)
    alone = []
    for name in (name for name in program.computations if name in callees):
        computation = program.computations[name]
        starts = [line for line in computation.values() if begins(line)]
        products = [line for line in computation.values() if _is_product(program, name, line, multiplies)]
        before = _before(computation) if starts else {}
        alone += [
            start
            for start in starts
            if all(p.name in before[start.name] or start.name in before[p.name] for p in products)
        ]
    return alone


def _is_product(program: Program, name: str, line: Instruction, multiplies: set[str]) -> bool:
    if line.opcode in PRODUCTS:
        return True
    if line.opcode == "custom-call":
        return any(word in line.attributes.get("custom_call_target", "").lower() for word in LIBRARIES)
    calls = called(program, program.computations[name], line)
    return any(callee in multiplies for names in calls.values() for callee in names)


def _before(computation: Computation) -> Mapping[str, frozenset[str]]:
    """Instruction → the names of all those on which it depends."""
    before: dict[str, frozenset[str]] = {}
    for line in computation.values():  # operands come before their users
        operands = [name for name in line.operand_names if name in before]
        before[line.name] = frozenset(operands).union(*(before[name] for name in operands))
    return before
