"""Find calls of functions among the arguments whose shapes differ from those in the reference solution."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.see.array_values import Array
from grader.see.observation import Called, Observation

Shapes = tuple[tuple[str, tuple[int, ...]], ...]  # the dtype and the shape of each array


@dataclass(frozen=True)
class OtherCalls:
    """The calls of the argument `name` with different shapes. mine: empty if the answer never called it."""

    name: str
    mine: tuple[Called, ...]
    theirs: tuple[Called, ...]


def other_calls(names: Sequence[str], mine: Observation, theirs: Observation) -> tuple[OtherCalls, ...]:
    """Return the differing calls of each function that the solution called in a case. names: of the arguments.

    Only shapes count, not devices: an answer that computes the right blocks one after another uses the right shapes.
    """
    differences = []
    for place, name in enumerate(names):
        its, mine_by_shape = ({_shapes(c): c for c in case.called if c.argument == place} for case in (theirs, mine))
        if its and its.keys() != mine_by_shape.keys():
            differences.append(OtherCalls(name, _first(mine_by_shape, its), _first(its, mine_by_shape)))
    return tuple(differences)


def _first(some: dict[Shapes, Called], others: dict[Shapes, Called]) -> tuple[Called, ...]:
    """Return a call for each shape, first those that the other side lacks."""
    return tuple(some[shapes] for shapes in sorted(some, key=lambda shapes: shapes in others))


def _shapes(call: Called) -> Shapes:
    return tuple((x.dtype, x.shape) for x in call.on if isinstance(x, Array))
