"""`minipod plan FILE.py:NAME --on SLICE [--mesh AXES]`: the program of a file, planned; a mistake is a sentence."""

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipod.pods import plan_cache
from minipod.pods.slices import Slice, slice_of

if TYPE_CHECKING:  # JAX takes its time, and a mistake in the words needs none
    from minipod.pods.compiler import Traced
    from minipod.pods.plan import Plan

LIMIT = 900.0  # seconds for one program, if nothing else is said
KEPT = ("LIBTPU_INIT_ARGS",)  # settings of the compiler's that hold for it, too


@dataclass(frozen=True)
class Wanted:
    """What is to be planned.

    program: FILE.py:NAME. on: the slice. mesh: axes of the mesh that NAME is called with; None: it makes its own.
    explicit: these axes are Explicit. xla: options of the compiler. limit: seconds. passes: how often a loop runs of
    which the compiled program does not say it. save, dump: files for the
    compiled program, as `jax.experimental.serialize_executable` writes it, and for its text. again: even if it is
    kept. tell: is given what comes while it is made, `{"step": …, "seconds": …}` and `{"said": …}`.
    """

    program: str
    on: str
    mesh: str | None = None
    explicit: bool = False
    xla: Mapping[str, str] = field(default_factory=dict[str, str])
    limit: float = LIMIT
    save: str | None = None
    dump: str | None = None
    again: bool = False
    passes: int | None = None
    tell: Callable[[dict[str, Any]], None] = lambda _: None


def run(wanted: Wanted) -> "Plan":
    """The plan. ValueError or OSError, with one sentence, for anything that is wrong."""
    file, name, axes = checked(wanted)
    found = plan_cache.key(
        str(file.resolve()), name, wanted.on, wanted.mesh, wanted.explicit, dict(wanted.xla), wanted.passes
    )
    if not (wanted.again or wanted.save or wanted.dump) and (entry := plan_cache.find(found)):
        return _plan(wanted, name, entry)
    from minipod.pods.compiler import Child, Missing

    try:
        child = Child(slice_of(wanted.on).generation.platform, KEPT)  # it starts while this process imports JAX
    except Missing:
        return _recorded(wanted)
    with child, tempfile.TemporaryDirectory() as folder:
        try:
            place = slice_of(wanted.on), file, name, axes, Path(folder) / "text"
            entry, files, text = _made(wanted, child, *place)
            if files:
                plan_cache.keep(found, files, entry)
            return _plan(wanted, name, entry, text)
        except RuntimeError as error:
            raise ValueError(str(error)) from None


def _made(
    wanted: Wanted, child: Any, on: Slice, file: Path, name: str, axes: Any, text: Path
) -> tuple[dict[str, Any], list[str], str | None]:
    """Compiled: what is to be kept of it, the files that it was made of, and its text, which `text` is to hold."""
    from minipod.pods.absent import mesh, mesh_of
    from minipod.pods.compiler import versions
    from minipod.pods.facts import facts

    if axes:
        mesh(wanted.on, **axes)  # a layout that the slice does not have is said before anything is compiled
    types = ["Explicit" if wanted.explicit else "Auto"] * len(axes or ())
    paths = {"file": str(file.resolve()), "text": str(text), "save": wanted.save and str(Path(wanted.save).resolve())}
    options = {"axes": axes, "types": types, "xla": dict(wanted.xla)}
    answer = child.ask_file(on, name, wanted.limit, wanted.tell, **paths, **options)
    said = text.read_text("utf-8") if text.exists() else None
    if wanted.dump and said is not None:
        Path(wanted.dump).write_text(said, "utf-8")
    sizes, numbers = answer["axes"], answer["devices"]
    found = facts(answer | {"text": said, "devices": numbers}, on, mesh_of(wanted.on, numbers, sizes), wanted.passes)
    entry = {"facts": found, "axes": sizes, "devices": numbers, "versions": versions(on.generation.platform)}
    return entry, answer.get("files", []), said


def _plan(wanted: Wanted, name: str, entry: Mapping[str, Any], text: str | None = None) -> "Plan":
    from minipod.pods.absent import mesh_of
    from minipod.pods.plan import plan

    place = mesh_of(wanted.on, entry["devices"], entry["axes"])
    made = plan(name, str(slice_of(wanted.on)), place, entry["facts"], entry["versions"], False, text)
    return replace(made, kept=entry.get("when"))


def _recorded(wanted: Wanted) -> "Plan":
    """What was compiled elsewhere, for those who have no compiler."""
    from minipod.pods.compiler import missing
    from minipod.pods.planning import make

    install = f"`pip install {' '.join(missing(slice_of(wanted.on).generation.platform))}`"
    if wanted.mesh is None:
        raise ValueError(f"without --mesh nothing is recorded, and there is no compiler here: {install}")
    if wanted.xla or wanted.save or wanted.dump or wanted.explicit or wanted.passes:
        raise ValueError(
            f"--xla, --save, --dump, --passes and --explicit need the compiler, which is not here: {install}"
        )
    return make(prepared(wanted.program, wanted.on, wanted.mesh), Path(wanted.program.rpartition(":")[0]).parent)


def checked(wanted: Wanted) -> tuple[Path, str, dict[str, int] | None]:
    """The file, the function's name and the mesh's axes, as far as they can be checked without JAX."""
    file, colon, name = wanted.program.rpartition(":")
    if not colon or not name.isidentifier():
        raise ValueError(f"{wanted.program!r} is not FILE.py:NAME, such as train.py:program")
    if not Path(file).is_file():
        raise FileNotFoundError(f"{file}: there is no such file")
    slice_of(wanted.on)
    if wanted.limit <= 0:
        raise ValueError(f"limit {wanted.limit:g}: a positive number of seconds is needed")
    if wanted.passes is not None and wanted.passes < 1:
        raise ValueError(f"passes {wanted.passes}: a loop runs a positive number of times")
    if wanted.explicit and not wanted.mesh:
        raise ValueError("--explicit is of the axes of --mesh, and there are none")
    for path in filter(None, (wanted.save, wanted.dump)):
        if not Path(path).resolve().parent.is_dir():
            raise FileNotFoundError(f"{path}: there is no such folder to write it in")
    return Path(file), name, None if wanted.mesh is None else axes_of(wanted.mesh)


def prepared(program: str, on: str, mesh: str) -> "Traced":
    """The program of a file, traced here for a slice: what a recording is found by. ValueError or OSError as above."""
    file, name, axes = checked(Wanted(program, on, mesh))
    import jax

    jax.config.update("jax_platforms", "cpu")  # or JAX would look for a TPU here
    from minipod.pods.absent import mesh as mesh_of
    from minipod.pods.compiler import trace
    from minipod.pods.program_file import imported, made_by, told

    folder = file.resolve().parent
    made = made_by(imported(file, name), name, folder, mesh_of(on, **axes or {}))
    with told(f"{name} cannot be traced", folder):
        traced = trace(made.function, *made.arguments, **made.keywords or {})
    return replace(traced, name=name)


def options_of(settings: list[str]) -> dict[str, str]:
    """`["xla_tpu_x=1"]` as {"xla_tpu_x": "1"}, with or without dashes. ValueError for anything else."""
    pairs = [re.fullmatch(r"-*([A-Za-z]\w*)=(.*)", setting) for setting in settings]
    if None in pairs:
        wrong = settings[pairs.index(None)]
        raise ValueError(
            f"--xla {wrong!r}: an option and its value is needed, such as xla_tpu_scoped_vmem_limit_kib=65536"
        )
    return {pair[1]: pair[2] for pair in pairs if pair}


def axes_of(text: str) -> dict[str, int]:
    """`data=4,model=4` as {"data": 4, "model": 4}. ValueError for anything else."""
    axes: dict[str, int] = {}
    for part in text.split(","):
        found = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\d+)\s*", part)
        if not found or found[1] in axes:
            raise ValueError(f"{text!r} are no mesh axes: each is a name and a size, once, such as data=4,model=4")
        axes[found[1]] = int(found[2])
    return axes
