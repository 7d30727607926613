"""Compile a program for a slice that is not here, in a child process, and bring back what the compiler says.

The program is traced here, on a mesh of `minipod.pods.absent`, and goes to the child as `jax.export` writes it: so a
function of a notebook's cell can be compiled as well as one of a file, no process with libtpu in it ever runs the
reader's code, and JAX may have started here with whatever devices. Bad names abort libtpu, and a fault of the compiler
may, too: then the child is gone, and a sentence is left.
"""

import base64
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
from jax.sharding import NamedSharding

from minipod.pods.absent import slice_of_mesh
from minipod.pods.slices import Slice
from minipod.processes import Program, environment, json_lines

LIMIT = 300.0  # seconds for one program
# The packages that a compiler is in, of each platform; of several in a row, one. The first are the extra `pods`.
NEEDED = {
    "tpu": (("libtpu",), ("flatbuffers",)),
    "cuda": (("jax_cuda13_plugin", "jax_cuda12_plugin"), ("flatbuffers",)),
}
ROOT = Path(__file__).parents[2]


class Missing(OSError):
    """There is no compiler for these devices here."""


def missing(platform: str) -> list[str]:
    """The packages to install before anything can be compiled for "tpu" or "cuda", as pip wants them."""
    lacking = [names[0].replace("_", "-") for names in NEEDED[platform] if not _installed(names)]
    return [f"{name}=={jax.__version__}" if name.startswith("jax-") else name for name in lacking]


def _installed(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name)]


@dataclass(frozen=True)
class Traced:
    """A program, traced for a slice: what the child compiles. `mesh` is that of its arguments' shardings."""

    name: str  # that the reader knows it by
    function: str  # its own
    on: Slice
    mesh: Any
    jaxpr: Any
    leaves: list[Any]
    donated: tuple[int, ...]
    flat: Callable[..., Any]
    source: Path | None  # the file that the function stands in

    def exported(self) -> bytes:
        """As `jax.export` writes it. RuntimeError, in one sentence, for what has no form for these devices."""
        from jax import export

        jitted = jax.jit(self.flat, donate_argnums=self.donated)
        try:
            return bytes(export.export(jitted, platforms=[self.on.generation.platform])(*self.leaves).serialize())
        except Exception as error:
            raise RuntimeError(f"{self.name} does not compile for {self.on}: {_sentence(str(error))}") from error


def trace(function: Callable[..., Any], *arguments: Any) -> Traced:
    """Trace `function` for arguments of which every array is a ShapeDtypeStruct with a NamedSharding on one mesh.

    ValueError for an argument without a sharding, or on another mesh; what the function itself raises goes through.
    """
    mesh = _mesh_of(arguments)
    found = slice_of_mesh(mesh)
    if found is None:
        raise ValueError("the arguments lie on devices of this machine: make their mesh with minipod.pods.mesh(…)")
    jitted: Any = function if hasattr(function, "trace") else jax.jit(function)
    traced = jitted.trace(*arguments)
    leaves, tree = jax.tree.flatten(arguments)
    infos = jax.tree.leaves(traced.args_info)

    def flat(*leaves: Any) -> list[Any]:
        return jax.tree.leaves(jitted(*jax.tree.unflatten(tree, leaves)))

    flat.__name__ = name = getattr(function, "__name__", type(function).__name__)
    donated = tuple(i for i, info in enumerate(infos) if info.donated)
    return Traced(name, name, found, mesh, traced.jaxpr, leaves, donated, flat, _source(function))


class Child:
    """A process with a compiler, which compiles one program after the other. It starts at once, and ends with us."""

    def __init__(self, platform: str) -> None:
        if lacking := missing(platform):
            raise Missing(f"not installed here: {' and '.join(lacking)} (`pip install {' '.join(lacking)}`)")
        settings = environment.clean(
            JAX_PLATFORMS="cpu",
            TPU_SKIP_MDS_QUERY="1",  # there is no metadata server to ask which TPU this is
            ALLOW_MULTIPLE_LIBTPU_LOAD="1",  # without it a second process aborts
        )
        settings["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), settings.get("PYTHONPATH"))))
        self._said = tempfile.TemporaryFile()
        command = [sys.executable, "-P", "-m", "minipod.pods.compile_process", str(os.getpid())]
        self._process = Program(command, stdout=subprocess.PIPE, stderr=self._said, env=settings)
        assert self._process.stdin and self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._reader = json_lines.Reader(self._answers.fileno())

    def ask(self, traced: Traced) -> dict[str, Any]:
        """What the compiler says of a program: see `minipod.pods.compile_process.compiled`.

        RuntimeError, in one sentence, where the compiler refuses the program or dies of it; TimeoutError after `LIMIT`
        seconds. After either the child is gone.
        """
        request = {
            "program": base64.b64encode(traced.exported()).decode(),
            "platform": traced.on.generation.platform,
            "topology": traced.on.topology,
            "options": traced.on.options,
            "devices": [device.id for device in traced.mesh.devices.flat],
            "axes": dict(traced.mesh.shape),
            "types": [kind.name for kind in traced.mesh.axis_types],
            "donated": traced.donated,
        }
        try:
            json_lines.write(self._requests.fileno(), request)
            answer = self._reader.read(LIMIT)
        except (EOFError, BrokenPipeError):
            code = self._process.wait()
            self._said.seek(0)
            raise RuntimeError(_death(code, self._said.read().decode(errors="replace"), traced)) from None
        except TimeoutError:
            self.end()
            raise TimeoutError(f"compiling {traced.name} for {traced.on} took more than {LIMIT:g} s") from None
        if "error" in answer:
            raise RuntimeError(f"{traced.name} does not compile for {traced.on}: {_sentence(answer['error'])}")
        return answer

    def end(self) -> None:
        self._process.end()
        self._answers.close()
        self._said.close()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def versions(platform: str = "tpu") -> dict[str, str]:
    """Of the packages that decide what comes out. The compiler's package must be there."""
    name = _installed(NEEDED[platform][0])[0].replace("_", "-")
    return {"jax": jax.__version__, name: version(name)}


def _mesh_of(arguments: Any) -> Any:
    mesh = None
    for path, leaf in jax.tree_util.tree_leaves_with_path(arguments):
        sharding = getattr(leaf, "sharding", None)
        if not isinstance(sharding, NamedSharding):
            where = f"argument {path[0].idx}{jax.tree_util.keystr(path[1:])}"
            raise ValueError(
                f"{where} has no NamedSharding: give a jax.ShapeDtypeStruct(shape, dtype, sharding="
                "NamedSharding(mesh, P(…)))"
            )
        if mesh is not None and sharding.mesh != mesh:
            raise ValueError("the arguments lie on different meshes: give them one")
        mesh = sharding.mesh
    if mesh is None:
        raise ValueError("no argument is an array, so nothing says on which slice this runs")
    return mesh


def _source(function: Any) -> Path | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    path = Path(code.co_filename) if code else None
    return path if path and path.is_file() else None


def _death(code: int, said: str, traced: Traced) -> str:
    """One sentence of what libtpu left when it ended the child."""
    if "lockfile" in said:
        return "another process holds libtpu, and does not share it: end that one, or remove /tmp/libtpu_lockfile"
    lines = [line for line in said.splitlines() if re.search(r"Check fail|^F\d{4}|^\w*Error: ", line)]
    why = _sentence(lines[-1]) if lines else f"exit code {code}"
    return f"the compiler died of {traced.name} for {traced.on}: {why}"


def _sentence(message: str) -> str:
    """The first line of a compiler's message, without its codes."""
    first = next((line for line in message.splitlines() if line.strip()), "")
    return re.sub(r"^(?:[A-Z_]+: )?(?:E\d+: )?", "", first.strip())[:300]
