"""What an operation of a profile is, by its name or by the compiled program's text."""

import re
from collections.abc import Iterable

from minipod.hlo.calls import base
from minipod.hlo.collectives import Place, Walker
from minipod.hlo.ops import OPS, begins
from minipod.hlo.text import parse

# XLA names an instruction after what it does, JAX after the function that it came from.
_FUNCTIONS = {
    "psum": "all-reduce", "psum_invariant": "all-reduce", "pmax": "all-reduce", "pmin": "all-reduce",
    "all_gather": "all-gather", "all_gather_invariant": "all-gather", "all_gather_reduced": "all-gather",
    "reduce_scatter": "reduce-scatter", "psum_scatter": "reduce-scatter", "unreduced_psum_scatter": "reduce-scatter",
    "unreduced_psum": "all-reduce", "all_to_all": "all-to-all", "ragged_all_to_all": "ragged-all-to-all",
    "ppermute": "collective-permute", "pbroadcast": "collective-broadcast",
}  # fmt: skip
# Nobody leaves one of these before all have come. A permute waits for its source only.
MEETINGS = tuple(op for op in OPS if op != "collective-permute")
AROUND = ("while", "call", "conditional")  # their events enclose those of what they call
_TEXT = re.compile(r"%?([\w.-]+) = .*? ([a-z][a-z0-9-]*)\(")

_NCCL = re.compile(r"nccl(?:Dev)?Kernel_([A-Za-z]+)")
_OF_NCCL = {
    "AllReduce": "all-reduce", "AllGather": "all-gather", "ReduceScatter": "reduce-scatter",
    "Broadcast": "collective-broadcast",
}  # fmt: skip

Known = dict[str, tuple[str, tuple[tuple[int, ...], ...]]]


def operation(name: str) -> tuple[str, str]:
    """(name, opcode) of an event's name: an instruction's, or its whole line, as TPUs have it."""
    if found := _TEXT.match(name):
        return found[1], found[2]
    return name, re.sub(r"\.\d+$", "", name.removeprefix("%"))


def kind(opcode: str) -> str:
    """ "compute", or the collective that it is, begins or ends."""
    plain = _FUNCTIONS.get(opcode, opcode)
    plain = base(plain.removesuffix("-done") + "-start" if plain.endswith("-done") else plain)
    return plain if plain in OPS else "compute"


def kernel(name: str) -> str:
    """The same of a GPU's kernel: NCCL's are named after what they do.

    A `SendRecv` may be of an all-to-all or of a permute: "async-collective", which does not say which.
    """
    found = _NCCL.match(name)
    return _OF_NCCL.get(found[1], "async-collective") if found else "compute"


def of_texts(texts: Iterable[str]) -> dict[str, Known]:
    """By module: the collectives of compiled programs by name: the kind of each, and the groups of positions that meet.

    A name that two programs of one module give to different things is left out. ValueError for what is no such text.
    """
    found: dict[str, Known] = {}
    for text in texts:
        program, own = parse(text), dict[str, tuple[str, tuple[tuple[int, ...], ...]]]()
        walker = Walker(program, None, 1)
        for computation in program.computations.values():
            for line in filter(begins, computation.values()):
                one = walker.collective(line, computation, Place())
                own[line.name] = one.op, one.groups if one.op in MEETINGS else ()
        module = re.search(r"^HloModule ([^\s,]+)", text, re.MULTILINE)
        known = found.setdefault(module[1] if module else "", own)
        for name in own.keys() | known.keys():
            if own.get(name) != known.get(name):
                known.pop(name, None)
    return found
