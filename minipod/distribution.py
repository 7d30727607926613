"""Report minipod's version, the missing packages of its extras, and the versions of Python and JAX that it needs."""

import importlib.metadata
import re

NAME = "minipod"  # what pip calls it
OLDEST_PYTHON, OLDEST_JAX = (3, 11), (0, 10)
NEWEST_JAX = (0, 12)  # the tests have passed with it (constraints.txt); no other line says which is the newest tried


class Missing(ImportError):
    """Raised if packages of an extra are missing; the message names them."""

    def __init__(self, extra: str) -> None:
        packages = missing(extra)
        install = f"`pip install {' '.join(packages)}`" if packages else f"install {NAME}[{extra}]"
        super().__init__(f"packages for {extra} are missing: {install}")


def version() -> str:
    """Return minipod's own version; "unknown" if pip has not installed it."""
    try:
        return importlib.metadata.version(NAME)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def missing(extra: str, package: str = NAME) -> list[str]:
    """Return the packages of an extra of `package` that are not installed; [] if pip does not know `package`."""
    try:
        lines = importlib.metadata.requires(package) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    requirements = [line for line in lines if re.search(rf"""extra == ["']{extra}["']""", line)]
    lacking: dict[str, None] = {}
    for line in requirements:
        name = re.split(r"[^\w.-]", line)[0]
        if others := line.partition(";")[0].partition("[")[2].partition("]")[0]:
            for other in others.split(","):
                lacking |= dict.fromkeys(missing(other, name))
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
    """Return the first two numbers of a version: (0, 12) for "0.12.0.1"."""
    major, minor, *_ = (*re.findall(r"\d+", version), "0", "0")
    return int(major), int(minor)


def dotted(version: tuple[int, int]) -> str:
    """Return a version as pip spells it: `0.12`."""
    return ".".join(map(str, version))


def is_untried(jax: str) -> bool:
    """Return whether this JAX is newer than every version with which the tests have passed."""
    return numbers(jax) > NEWEST_JAX
