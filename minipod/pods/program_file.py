"""The program of a file: imported as it is when it is run, its `NAME(mesh)` called, and what that returned.

All that goes wrong in it is one sentence, with the line of the reader's file.
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

# What JAX says where something is to be put on devices that can only be compiled for. It never names the cause.
_NOT_HERE = re.compile(
    r"compile-only client|'Executable' object has no attribute 'local_devices'|"
    r"(get_topology_for_devices|batched_device_put)\(\): incompatible function arguments|"
    r"Device assignment.*is not addressable"
)


class Mistake(ValueError):
    """What is wrong with a reader's program, in one sentence."""


@dataclass(frozen=True)
class Made:
    """What `NAME(mesh)` returned: a function, jitted or not, and what to trace it with; or what is traced already."""

    function: Any
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] | None = None


def imported(file: Path, name: str) -> Callable[..., Any]:
    """The function `name` of a file. Mistake where the file cannot be imported, or has none."""
    folder = file.resolve().parent
    sys.path.insert(0, str(folder))  # as when it is run
    _set_aside(folder)
    with told(f"{file.name} cannot be imported", folder):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise Mistake("it is no Python program")
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
        found = getattr(module, name, None)
        if not callable(found):
            raise Mistake(f"it has no function {name}")
        return found


def made_by(function: Callable[..., Any], name: str, folder: Path, *mesh: Any) -> Made:
    """What the reader's function makes for a mesh; without one, on a mesh of its own. Mistake for what is neither."""
    with told(f"{name}({'mesh' if mesh else ''}) failed", folder):
        given = function(*mesh)
    if hasattr(given, "lower") or hasattr(given, "compile"):
        return Made(given)
    match given:
        case (found, arguments) if callable(found):
            return Made(found, _listed(arguments))
        case (found, arguments, dict() as keywords) if callable(found):
            return Made(found, _listed(arguments), keywords)
        case tuple():
            what = f"({', '.join(type(part).__name__ for part in given)})"
        case _:
            what = type(given).__name__
    wanted = "(function, arguments) or (function, arguments, keywords)"
    raise Mistake(f"{name}({'mesh' if mesh else ''}) returned {what}, and {wanted} is needed")


def _listed(arguments: Any) -> tuple[Any, ...]:
    return tuple(arguments) if isinstance(arguments, list | tuple) else (arguments,)


@contextlib.contextmanager
def told(what: str, folder: Path) -> Iterator[None]:
    """Make one sentence of an error of the reader's program, with the last line of it that stands in `folder`."""
    try:
        yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if f.filename and folder in Path(f.filename).resolve().parents]
        where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
        said = " ".join(str(error).split("\n\n")[0].split())[:400]
        if _NOT_HERE.search(said):
            said = "it makes arrays on devices that are not here; wrap it in jax.eval_shape, which makes their shapes"
            raise Mistake(f"{what}: {said}{where}") from None
        kind = "" if isinstance(error, Mistake) else f"{type(error).__name__}: " if said else type(error).__name__
        raise Mistake(f"{what}: {kind}{said}{where}") from None


def _set_aside(folder: Path) -> None:
    """Forget the modules of another program that are called as what lies beside this one: both may have a `model`."""
    installed = {Path(path) for key, path in sysconfig.get_paths().items() if key in ("stdlib", "purelib", "platlib")}
    for beside in folder.glob("*.py"):
        where = getattr(sys.modules.get(beside.stem), "__file__", None)
        if where and Path(where).resolve() != beside and not installed & {*Path(where).parents}:
            del sys.modules[beside.stem]
