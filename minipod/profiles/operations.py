"""Find what an operation of a profile does, from its name or from the compiled program's text."""

import re
from collections.abc import Iterable

from minipod.hlo.calls import base
from minipod.hlo.collectives import Place, Walker
from minipod.hlo.ops import OPS, begins
from minipod.hlo.text import parse

# XLA names an instruction after its operation, JAX after the function from which it came.
_FUNCTIONS = {
    "psum": "all-reduce", "psum_invariant": "all-reduce", "pmax": "all-reduce", "pmin": "all-reduce",
    "all_gather": "all-gather", "all_gather_invariant": "all-gather", "all_gather_reduced": "all-gather",
    "reduce_scatter": "reduce-scatter", "psum_scatter": "reduce-scatter", "unreduced_psum_scatter": "reduce-scatter",
    "unreduced_psum": "all-reduce", "all_to_all": "all-to-all", "ragged_all_to_all": "ragged-all-to-all",
    "ppermute": "collective-permute", "pbroadcast": "collective-broadcast",
}  # fmt: skip
# No device leaves one of these before all have reached it. A permute waits for its source only.
MEETINGS = tuple(op for op in OPS if op != "collective-permute")
AROUND = ("while", "call", "conditional")  # their events enclose those of their bodies
_TEXT = re.compile(r"%?([\w.-]+) = .*? ([a-z][a-z0-9-]*)\(")

_NCCL = re.compile(r"nccl(?:Dev)?Kernel_([A-Za-z]+)")
_OF_NCCL = {
    "AllReduce": "all-reduce", "AllGather": "all-gather", "ReduceScatter": "reduce-scatter",
    "Broadcast": "collective-broadcast",
}  # fmt: skip

Known = dict[str, tuple[str, tuple[tuple[int, ...], ...]]]


def operation(name: str) -> tuple[str, str]:
    """Return (name, opcode) from an event's name: an instruction's name or, on TPUs, its whole line."""
    if line := _TEXT.match(name):
        return line[1], line[2]
    return name, re.sub(r"\.\d+$", "", name.removeprefix("%"))


def kind(opcode: str) -> str:
    """Return "compute", or the collective that an operation is, starts or ends."""
    plain = _FUNCTIONS.get(opcode, opcode)
    plain = base(plain.removesuffix("-done") + "-start" if plain.endswith("-done") else plain)
    return plain if plain in OPS else "compute"


def kernel(name: str) -> str:
    """Return the kind of a GPU kernel: NCCL's kernels are named after their collective.

    A `SendRecv` may belong to an all-to-all or to a permute: its kind is "async-collective".
    """
    collective = _NCCL.match(name)
    return _OF_NCCL.get(collective[1], "async-collective") if collective else "compute"


def of_texts(texts: Iterable[str]) -> dict[str, Known]:
    """Map module → name of a collective → its kind, and the groups of positions that share it.

    A name that means different things in two programs of one module is left out. ValueError for a text that is not a
    compiled program's.
    """
    by_module: dict[str, Known] = {}
    for text in texts:
        program, collectives = parse(text), dict[str, tuple[str, tuple[tuple[int, ...], ...]]]()
        walker = Walker(program, None, 1)
        for computation in program.computations.values():
            for line in filter(begins, computation.values()):
                one = walker.collective(line, computation, Place())
                collectives[line.name] = one.op, one.groups if one.op in MEETINGS else ()
        module = re.search(r"^HloModule ([^\s,]+)", text, re.MULTILINE)
        known = by_module.setdefault(module[1] if module else "", collectives)
        for name in collectives.keys() | known.keys():
            if collectives.get(name) != known.get(name):
                known.pop(name, None)
    return by_module
