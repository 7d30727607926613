"""Tell whose code a stack frame is in: the user's, Python's or a library's."""

import sysconfig
from pathlib import Path

_INSTALLED = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))
_STANDARD = ("<", sysconfig.get_path("stdlib"))
_LIBRARIES = (*_STANDARD, *_INSTALLED, str(Path(__file__).parents[1]))


def is_own(filename: str) -> bool:
    """Return whether a file named in a traceback is the user's own, not of Python, minipod or an installed library."""
    return not filename.startswith(_LIBRARIES)


def is_standard(filename: str) -> bool:
    """Return whether a file belongs to Python itself; installed libraries below Python's folder do not."""
    return filename.startswith(_STANDARD) and not filename.startswith(_INSTALLED)
