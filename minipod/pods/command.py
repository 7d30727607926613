"""`minipod plan FILE.py:NAME --on SLICE --mesh AXES`: the program of a file, planned; a mistake is a sentence."""

import contextlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipod.pods.slices import slice_of

if TYPE_CHECKING:  # JAX takes its time, and a mistake in the words needs none
    from minipod.pods.compiler import Traced
    from minipod.pods.plan import Plan


def run(program: str, on: str, mesh: str) -> "Plan":
    """The plan. ValueError or OSError, with one sentence, for anything that is wrong."""
    checked(program, on, mesh)
    from minipod.pods.compiler import Child, Missing

    try:
        child = Child(slice_of(on).generation.platform)  # it starts while this process imports JAX and traces
    except Missing:
        child = None
    with child or contextlib.nullcontext():
        from minipod.pods.making import make

        try:
            return make(prepared(program, on, mesh), Path(program.rpartition(":")[0]).parent, child)
        except RuntimeError as error:
            raise ValueError(str(error)) from None


def checked(program: str, on: str, mesh: str) -> tuple[Path, str, dict[str, int]]:
    """The file, the function's name and the mesh's axes, as far as they can be checked without JAX."""
    file, colon, name = program.rpartition(":")
    if not colon or not name.isidentifier():
        raise ValueError(f"{program!r} is not FILE.py:NAME, such as train.py:program")
    if not Path(file).is_file():
        raise FileNotFoundError(f"{file}: there is no such file")
    slice_of(on)
    return Path(file), name, axes_of(mesh)


def prepared(program: str, on: str, mesh: str) -> "Traced":
    """The program of a file, traced for a slice. ValueError or OSError as above."""
    file, name, axes = checked(program, on, mesh)
    import jax

    jax.config.update("jax_platforms", "cpu")  # or JAX would look for a TPU here
    from minipod.pods.absent import mesh as mesh_of
    from minipod.pods.compiler import trace

    place = mesh_of(on, **axes)
    with _told(f"{file.name} cannot be imported"):
        make_program = _imported(file, name)
    with _told(f"{name}(mesh) failed"):
        made = make_program(place)
    if not (isinstance(made, tuple) and len(made) == 2 and callable(made[0])):
        raise ValueError(f"{name}(mesh) returned {type(made).__name__}, and (function, arguments) is needed")
    function, arguments = made
    with _told(f"{name} cannot be traced", ValueError):
        traced = trace(function, *(arguments if isinstance(arguments, list | tuple) else (arguments,)))
    return replace(traced, name=name)


def axes_of(text: str) -> dict[str, int]:
    """`data=4,model=4` as {"data": 4, "model": 4}. ValueError for anything else."""
    axes: dict[str, int] = {}
    for part in text.split(","):
        found = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\d+)\s*", part)
        if not found or found[1] in axes:
            raise ValueError(f"{text!r} are no mesh axes: each is a name and a size, once, such as data=4,model=4")
        axes[found[1]] = int(found[2])
    return axes


def _imported(file: Path, name: str) -> Callable[[Any], Any]:
    folder = file.resolve().parent
    sys.path.insert(0, str(folder))  # as when it is run
    _set_aside(folder)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ValueError("it is no Python program")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    if not callable(found := getattr(module, name, None)):
        raise ValueError(f"it has no function {name}")
    return found


def _set_aside(folder: Path) -> None:
    """Forget the modules of another program that are called as what lies beside this one: both may have a `model`."""
    installed = {Path(path) for key, path in sysconfig.get_paths().items() if key in ("stdlib", "purelib", "platlib")}
    for beside in folder.glob("*.py"):
        where = getattr(sys.modules.get(beside.stem), "__file__", None)
        if where and Path(where).resolve() != beside and not installed & {*Path(where).parents}:
            del sys.modules[beside.stem]


@contextlib.contextmanager
def _told(what: str, *plain: type[Exception]) -> Iterator[None]:
    """Make one sentence of an error of the reader's program; those of the kinds in `plain` that are ours go through."""
    try:
        yield
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split("\n\n")[0].split())
        if isinstance(error, plain) and said.startswith(("argument ", "the arguments ", "no argument ")):
            raise
        kind = "" if type(error) is ValueError and said.startswith("it ") else f"{type(error).__name__}: "
        raise ValueError(f"{what}: {kind}{said[:400]}") from None
