"""Run `minipod plan FILE.py:NAME --on SLICE [--mesh AXES]`: plan a program in a file; a mistake gets one sentence."""

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minipod.pods import plan_cache
from minipod.pods.slices import Slice, slice_of

if TYPE_CHECKING:  # importing JAX takes a second, and mistakes in the arguments are reported without it
    from minipod.pods.compiler import Traced
    from minipod.pods.plan import Plan

LIMIT = 900.0  # seconds for one program
KEPT = ("LIBTPU_INIT_ARGS",)  # environment variables that the compiler sees


@dataclass(frozen=True)
class Wanted:
    """The arguments of `minipod plan`.

    program: FILE.py:NAME. on: the slice. mesh: axes of the mesh that NAME is called with; None: NAME makes its own.
    explicit: whether these axes are Explicit. xla: options of the compiler. limit: seconds. passes: number of
    iterations of loops of unknown length. save: file for the compiled program, as
    `jax.experimental.serialize_executable` writes it. dump: file for its text. again: compile even if the plan is in
    the cache. tell: is called with each line of progress, `{"step": …, "seconds": …}` or `{"printed": …}`.
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
    """Make the plan. Raises ValueError or OSError, with one sentence, for any mistake."""
    file, name, axes = checked(wanted)
    key = plan_cache.key(
        str(file.resolve()), name, wanted.on, wanted.mesh, wanted.explicit, dict(wanted.xla), wanted.passes
    )
    if not (wanted.again or wanted.save or wanted.dump) and (entry := plan_cache.find(key)):
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
                plan_cache.keep(key, files, entry)
            return _plan(wanted, name, entry, text)
        except RuntimeError as error:
            raise ValueError(str(error)) from None


def _made(
    wanted: Wanted, child: Any, on: Slice, file: Path, name: str, axes: Any, text: Path
) -> tuple[dict[str, Any], list[str], str | None]:
    """Compile the program: (entry for the cache, files that the plan depends on, text of the program).

    text: the file into which the child writes that text.
    """
    from minipod.pods.absent import mesh, mesh_of
    from minipod.pods.compiler import versions
    from minipod.pods.facts import facts

    if axes:
        mesh(wanted.on, **axes)  # reports a layout that the slice does not have before anything is compiled
    types = ["Explicit" if wanted.explicit else "Auto"] * len(axes or ())
    paths = {"file": str(file.resolve()), "text": str(text), "save": wanted.save and str(Path(wanted.save).resolve())}
    options = {"axes": axes, "types": types, "xla": dict(wanted.xla)}
    answer = child.ask_file(on, name, wanted.limit, wanted.tell, **paths, **options)
    hlo = text.read_text("utf-8") if text.exists() else None
    if wanted.dump and hlo is not None:
        Path(wanted.dump).write_text(hlo, "utf-8")
    sizes, numbers = answer["axes"], answer["devices"]
    entry = {
        "facts": facts(answer | {"text": hlo}, on, mesh_of(wanted.on, numbers, sizes), wanted.passes),
        "axes": sizes,
        "devices": numbers,
        "versions": versions(on.generation.platform),
    }
    return entry, answer.get("files", []), hlo


def _plan(wanted: Wanted, name: str, entry: Mapping[str, Any], text: str | None = None) -> "Plan":
    from minipod.pods.absent import mesh_of
    from minipod.pods.plan import plan

    place = mesh_of(wanted.on, entry["devices"], entry["axes"])
    made = plan(name, str(slice_of(wanted.on)), place, entry["facts"], entry["versions"], False, text)
    return replace(made, kept=entry.get("when"))


def _recorded(wanted: Wanted) -> "Plan":
    """Return the recorded plan, if no compiler is installed."""
    from minipod.pods.compiler import missing
    from minipod.pods.planning import make
    from minipod.pods.recorded import Stale

    install = f"`pip install {' '.join(missing(slice_of(wanted.on).generation.platform))}`"
    if wanted.mesh is None:
        raise ValueError(f"no compiler is installed ({install}), and recorded plans need --mesh")
    if wanted.xla or wanted.save or wanted.dump or wanted.explicit or wanted.passes:
        raise ValueError(
            f"--xla, --save, --dump, --passes and --explicit need the compiler, which is not installed: {install}"
        )
    try:
        return make(prepared(wanted.program, wanted.on, wanted.mesh), Path(wanted.program.rpartition(":")[0]).parent)
    except Stale as error:
        raise ValueError(str(error)) from None


def checked(wanted: Wanted) -> tuple[Path, str, dict[str, int] | None]:
    """Return the file, the name of the function and the axes of the mesh, checked as far as possible without JAX."""
    file, _, name = wanted.program.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"{wanted.program!r} is not FILE.py:NAME, such as train.py:program")
    if not Path(file).is_file():
        raise FileNotFoundError(f"{file}: there is no such file")
    slice_of(wanted.on)
    if wanted.limit <= 0:
        raise ValueError(f"--limit {wanted.limit:g}: a positive number of seconds is needed")
    if wanted.passes is not None and wanted.passes < 1:
        raise ValueError(f"--passes {wanted.passes}: a positive number of iterations is needed")
    if wanted.explicit and not wanted.mesh:
        raise ValueError("--explicit needs --mesh")
    for path in filter(None, (wanted.save, wanted.dump)):
        if not Path(path).resolve().parent.is_dir():
            raise FileNotFoundError(f"{path}: the folder of that file does not exist")
    return Path(file), name, None if wanted.mesh is None else axes_of(wanted.mesh)


def prepared(program: str, on: str, mesh: str) -> "Traced":
    """Return a program traced in this process for a slice, to find its recording. Raises the errors of `run`."""
    file, name, axes = checked(Wanted(program, on, mesh))
    import jax

    jax.config.update("jax_platforms", "cpu")  # otherwise JAX looks for a TPU on this machine
    from minipod.pods.absent import mesh as mesh_of
    from minipod.pods.compiler import trace
    from minipod.pods.program_file import as_mistake, imported, made_by

    folder = file.resolve().parent
    made = made_by(imported(file, name), name, folder, mesh_of(on, **axes or {}))
    with as_mistake(f"{name} cannot be traced", folder):
        traced = trace(made.function, *made.arguments, **made.keywords or {})
    return replace(traced, name=name)


def options_of(settings: list[str]) -> dict[str, str]:
    """Parse `["xla_tpu_x=1"]` into {"xla_tpu_x": "1"}, with or without dashes. Raises ValueError for anything else."""
    options = {}
    for setting in settings:
        pair = re.fullmatch(r"-*([A-Za-z]\w*)=(.*)", setting)
        if not pair:
            raise ValueError(f"--xla {setting!r} is not OPTION=VALUE, such as xla_tpu_scoped_vmem_limit_kib=65536")
        options[pair[1]] = pair[2]
    return options


def axes_of(text: str) -> dict[str, int]:
    """Parse `data=4,model=4` into {"data": 4, "model": 4}. Raises ValueError for anything else."""
    axes: dict[str, int] = {}
    for part in text.split(","):
        pair = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(\d+)\s*", part)
        if not pair or pair[1] in axes:
            raise ValueError(f"{text!r} does not name mesh axes: write each axis once, as in data=4,model=4")
        axes[pair[1]] = int(pair[2])
    return axes
