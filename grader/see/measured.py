"""Measure an exported program: compile, count and run it on the real arguments, away from the submission."""

import base64
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.exercise.spec import Budget
from grader.see.compiled import counted, places_of
from grader.see.observation import FileObservation, Observation, ProcessResult
from grader.see.observe import failure_of
from grader.see.packing import pack
from grader.see.programs import Program, filled
from grader.see.wire import Malformed

# What a program of arrays, meshes and collectives calls beside StableHLO itself. A call may name any function of the
# process, and LAPACK's write where the program says, whatever the shapes: what is not known is not run.
KNOWN_CALLS = re.compile(
    r"Sharding|SPMDFullToShardShape|SPMDShardToFullShape|xla\.sdy\..*|annotate_device_placement|LayoutConstraint"
    r"|cu_threefry2x32.*|TopK|mhlo\..*|stablehlo\..*|chlo\..*|dynamic_.*|shape_assertion"
)


class UnknownCall(Exception):
    """Raised if the program calls something that is not known to be harmless; the message is its name."""


def measured(result: ProcessResult, name: str, cases: list[tuple[tuple[Any, ...], Budget | None]]) -> ProcessResult:
    """Replace each program in a sandbox's result by its value, placement and traffic.

    name   the exercise's function
    cases  the arguments, and the budget, of each case. Raises Malformed unless the result has a program for each
    """
    observed = result.cases(name)
    if observed is None:
        return result
    if len(observed) != len(cases):
        raise Malformed("the number of cases differs")
    made = tuple(_case(one, *case) for one, case in zip(observed, cases, strict=True))
    return replace(result, file=FileObservation(functions={name: made}))


def _case(case: Observation, args: tuple[Any, ...], budget: Budget | None) -> Observation:
    if case.failure:
        return case
    if not isinstance(case.value, Program):
        raise Malformed("got a value instead of a program")
    try:
        value, traffic = _run(case.value, args, budget)
    except Exception as error:
        return replace(case, value=None, failure=failure_of(error, Path()))
    return replace(case, value=value, traffic=traffic, printed="")


def _run(program: Program, args: tuple[Any, ...], budget: Budget | None) -> tuple[Any, Any]:
    import jax
    from jax import export as jax_export

    exported = jax_export.deserialize(bytearray(base64.b64decode(program.base64)))
    for call in re.findall(r'custom_call @"?([^"(\s]+)', exported.mlir_module()):
        if not KNOWN_CALLS.fullmatch(call):
            raise UnknownCall(call)
    leaves = jax.tree.leaves([args[i] for i in places_of(args)])
    executable, traffic = counted(_on(exported, leaves), leaves, args, budget)
    returned = executable(*leaves)
    return filled(program.result, [pack(array) for array in returned]), traffic


def _on(exported: Any, leaves: list[Any]) -> Any:
    """Return the program as a function to compile, even if it makes its own mesh while its arrays are on one device."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    here = {device for leaf in leaves if isinstance(leaf, jax.Array) for device in leaf.devices()}
    if len(here) >= exported.nr_devices:
        return exported.call
    everywhere = NamedSharding(Mesh(jax.devices()[: exported.nr_devices], ("all",)), PartitionSpec())

    def program(*leaves: Any) -> Any:
        return exported.call(*(jax.lax.with_sharding_constraint(leaf, everywhere) for leaf in leaves))

    return program
