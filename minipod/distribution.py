"""minipod as pip has it: its version, what its extras lack here, and which Python and JAX it is for."""

import importlib.metadata
import re

NAME = "one-program-many-devices"  # what pip calls the package that brings minipod
OLDEST_PYTHON, OLDEST_JAX = (3, 11), (0, 10)
NEWEST_JAX = (0, 12)  # the tests have passed with it (constraints.txt); no other line says which is the newest tried


def version() -> str:
    """minipod's own; "unknown" in a folder that pip knows nothing of."""
    try:
        return importlib.metadata.version(NAME)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def missing(extra: str) -> list[str]:
    """The packages of an extra of pyproject.toml that are not installed; none in a folder that pip knows nothing of."""
    try:
        lines = importlib.metadata.requires(NAME) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    own = [line for line in lines if re.search(rf"""extra == ["']{extra}["']""", line)]
    lacking: dict[str, None] = {}
    for line in own:
        name = re.split(r"[^\w.-]", line)[0]
        if name == NAME:
            for other in line.partition("[")[2].partition("]")[0].split(","):
                lacking |= dict.fromkeys(missing(other))
        elif not _is_there(name):
            lacking[name] = None
    return [*lacking]


def _is_there(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def numbers(version: str) -> tuple[int, int]:
    """The first two numbers of a version: (0, 12) of "0.12.0.1"."""
    major, minor, *_ = (*re.findall(r"\d+", version), "0", "0")
    return int(major), int(minor)


def dotted(version: tuple[int, int]) -> str:
    """`0.12`, as pip wants it."""
    return ".".join(map(str, version))


def is_untried(jax: str) -> bool:
    """Whether this JAX is newer than any that the tests have passed with."""
    return numbers(jax) > NEWEST_JAX
