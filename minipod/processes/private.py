"""JAX's private names, used where it has no public way. Where a release renames one, minipod does without it."""

import pkgutil
import sys
from importlib import metadata
from typing import Any

_said: set[str] = set()


def private(name: str, otherwise: str) -> Any:
    """What JAX has at `name`, such as "jax._src.distributed:State.initialize"; None if it has nothing there.

    Then stderr gets one sentence: JAX's version, the name, and `otherwise`, which says what now happens instead.
    """
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        lacking(name.replace(":", "."), otherwise)
        return None


def lacking(what: str, otherwise: str) -> None:
    """Say that JAX does not have `what`, and what happens instead: once in a process for each `otherwise`."""
    if otherwise not in _said:
        _said.add(otherwise)
        print(f"minipod: JAX {metadata.version('jax')} has no {what}, so {otherwise}", file=sys.stderr, flush=True)
