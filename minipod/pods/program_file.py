"""Import the user's file, call its `NAME(mesh)`, and check what that returns.

Any error in the user's code becomes one sentence with the line in the user's file.
"""

import contextlib
import importlib.util
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# JAX's errors when a program puts an array on a device that exists only for the compiler; none names the cause.
_NOT_HERE = re.compile(
    r"compile-only client|'Executable' object has no attribute 'local_devices'|"
    r"(get_topology_for_devices|batched_device_put)\(\): incompatible function arguments|"
    r"Device assignment.*is not addressable"
)


class Mistake(ValueError):
    """Raised for a mistake in the user's program; the message is one sentence."""


@dataclass(frozen=True)
class Made:
    """The result of `NAME(mesh)`: a function, jitted or not, with its arguments; or a traced or lowered program."""

    function: Any
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] | None = None


def imported(file: Path, name: str) -> Callable[..., Any]:
    """Return the function `name` of a file. Raises Mistake if the file cannot be imported or lacks the function."""
    folder = file.resolve().parent
    sys.path.insert(0, str(folder))  # as when it is run
    _set_aside(folder)
    with as_mistake(f"{file.name} cannot be imported", folder):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise Mistake("it is not a Python program")
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
        function = getattr(module, name, None)
    if not callable(function):
        raise Mistake(f"{file.name} has no function {name}")
    return function


def made_by(function: Callable[..., Any], name: str, folder: Path, *mesh: Any) -> Made:
    """Call the user's function with the mesh, if there is one. Raises Mistake if it fails or returns no program."""
    with as_mistake(f"{name}({'mesh' if mesh else ''}) failed", folder):
        given = function(*mesh)
    if hasattr(given, "lower") or hasattr(given, "compile"):
        return Made(given)
    match given:
        case (made, arguments) if callable(made):
            return Made(made, _listed(arguments))
        case (made, arguments, dict() as keywords) if callable(made):
            return Made(made, _listed(arguments), keywords)
        case tuple():
            what = f"({', '.join(type(part).__name__ for part in given)})"
        case _:
            what = type(given).__name__
    wanted = "(function, arguments) or (function, arguments, keywords)"
    raise Mistake(f"{name}({'mesh' if mesh else ''}) returned {what} instead of {wanted}")


def _listed(arguments: Any) -> tuple[Any, ...]:
    return tuple(arguments) if isinstance(arguments, list | tuple) else (arguments,)


@contextlib.contextmanager
def as_mistake(what: str, folder: Path) -> Iterator[None]:
    """Turn an error in the user's program into a Mistake: one sentence, with the last line of the error in `folder`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f for f in frames if f.filename and folder in Path(f.filename).resolve().parents]
        where = f" ({Path(lines[-1].filename).name}, line {lines[-1].lineno})" if lines else ""
        message = " ".join(str(error).split("\n\n")[0].split())[:400]
        if _NOT_HERE.search(message):
            message = "it makes arrays on devices that are not here; wrap it in jax.eval_shape"
        elif not isinstance(error, Mistake):
            message = ": ".join(filter(None, (type(error).__name__, message)))
        raise Mistake(f"{what}: {message}{where}") from None


def _set_aside(folder: Path) -> None:
    """Forget modules of another program that share a name with a file in this folder: both may have a `model`."""
    installed = {Path(path) for key, path in sysconfig.get_paths().items() if key in ("stdlib", "purelib", "platlib")}
    for beside in folder.glob("*.py"):
        where = getattr(sys.modules.get(beside.stem), "__file__", None)
        if where and Path(where).resolve() != beside and not installed & {*Path(where).parents}:
            del sys.modules[beside.stem]
