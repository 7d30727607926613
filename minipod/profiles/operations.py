"""Find out what an operation of a profile does, from its name or from the compiled program's text."""

import re
from collections.abc import Iterable
from typing import NamedTuple

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

# What JAX writes between the names of scopes: its own operations, and XLA's parts of a loop or a branch.
_BETWEEN = re.compile(
    r"jit\(.*|while|body|cond|scan|branch_\d+_fun|closed_call|eval_jaxpr|shard_map|checkpoint|rematted_computation|"
    r"remat2?|custom_[jv]vp_call"
)


class Known(NamedTuple):
    """What a program's text says about an instruction.

    kind: as in `Event`. groups: the positions that share a collective; () for anything else. scope: the names given by
    `jax.named_scope`, such as `layer/mlp`; "" without any.
    """

    kind: str = "compute"
    groups: tuple[tuple[int, ...], ...] = ()
    scope: str = ""


def operation(name: str) -> tuple[str, str]:
    """Return (name, opcode) for an event's name, which is an instruction's name or, on TPUs, its whole line."""
    if line := _TEXT.match(name):
        return line[1], line[2]
    return name, re.sub(r"\.\d+$", "", name.removeprefix("%"))


def kind(opcode: str) -> str:
    """Return the collective that an operation is, starts or ends; "compute" for other operations."""
    plain = _FUNCTIONS.get(opcode, opcode)
    plain = base(plain.removesuffix("-done") + "-start" if plain.endswith("-done") else plain)
    return plain if plain in OPS else "compute"


def kernel(name: str) -> str:
    """Return the kind of a GPU kernel: NCCL's kernels are named after their collective.

    A `SendRecv` may belong to an all-to-all or to a permute: its kind is "async-collective".
    """
    collective = _NCCL.match(name)
    return _OF_NCCL.get(collective[1], "async-collective") if collective else "compute"


def scope(rest: str) -> str:
    """Return `layer/mlp` for the rest of a line with `op_name="jit(step)/transpose(jvp(layer))/mlp/dot_general"`."""
    path = re.search(r'op_name="([^"]*)/', rest)
    parts = (part for part in (path[1] if path else "").split("/") if not _BETWEEN.fullmatch(part))
    names = (re.sub(r"^(?:(?:transpose|jvp|vmap)\()+|\)+$", "", part) for part in parts)
    return "/".join(filter(None, names))


def of_texts(texts: Iterable[str]) -> dict[str, dict[str, Known]]:
    """Map each module to its instructions' names, and these to what the text says about them.

    If two programs of one module differ about a name, the differing part is left out. Raises ValueError for a text that
    is not a compiled program's.
    """
    by_module: dict[str, dict[str, Known]] = {}
    for text in texts:
        program, here = parse(text), dict[str, Known]()
        walker = Walker(program, None, 1)
        for computation in program.computations.values():
            for line in computation.values():
                kind, groups = "compute", ()
                if begins(line):
                    one = walker.collective(line, computation, Place())
                    kind, groups = one.op, one.groups if one.op in MEETINGS else ()
                here[line.name] = Known(kind, groups, scope(line.rest))
        module = re.search(r"^HloModule ([^\s,]+)", text, re.MULTILINE)
        known = by_module.setdefault(module[1] if module else "", here)
        for name in here.keys() | known.keys():
            ours, theirs = here.get(name, Known()), known.get(name, Known())
            same = ours[:2] if ours[:2] == theirs[:2] else Known()[:2]
            known[name] = Known(*same, ours.scope if ours.scope == theirs.scope else "")
    return by_module
