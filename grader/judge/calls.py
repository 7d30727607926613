"""Find calls of functions among the arguments on shapes that differ from the reference solution's."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.see.array_values import Array
from grader.see.observation import Called, Observation

Shapes = tuple[tuple[str, tuple[int, ...]], ...]  # the dtype and the shape of each array


@dataclass(frozen=True)
class OtherCalls:
    """The calls of the argument `name` on different shapes. mine: empty if the answer never called it."""

    name: str
    mine: tuple[Called, ...]
    theirs: tuple[Called, ...]


def other_calls(names: Sequence[str], mine: Observation, theirs: Observation) -> tuple[OtherCalls, ...]:
    """Of each function that the solution called in a case; names: of the arguments. Where a call lies does not matter:
    who computes the right blocks one after the other calls it on the right shapes.
    """
    differences = []
    for place, name in enumerate(names):
        its, mine_by_shape = ({_shapes(c): c for c in case.called if c.argument == place} for case in (theirs, mine))
        if its and its.keys() != mine_by_shape.keys():
            differences.append(OtherCalls(name, _first(mine_by_shape, its), _first(its, mine_by_shape)))
    return tuple(differences)


def _first(some: dict[Shapes, Called], others: dict[Shapes, Called]) -> tuple[Called, ...]:
    """Return a call for each shape, those that the other side lacks before the rest."""
    return tuple(some[shapes] for shapes in sorted(some, key=lambda shapes: shapes in others))


def _shapes(call: Called) -> Shapes:
    return tuple((x.dtype, x.shape) for x in call.on if isinstance(x, Array))
