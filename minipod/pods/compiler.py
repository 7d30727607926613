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
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from minipod.pods.absent import slice_of_mesh
from minipod.pods.program_file import Mistake
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


_CALLS_BACK = (
    "it calls Python back (jax.debug.print, io_callback and their like), and jax.export cannot write that: leave it "
    "out, or give the file's function to minipod plan"
)


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
        # What is written here is read by the same JAX, at once: nothing has to stay compatible.
        checks = [export.DisabledSafetyCheck.custom_call("ragged_all_to_all")]
        try:
            made = export.export(jitted, platforms=[self.on.generation.platform], disabled_checks=checks)
            return bytes(made(*self.leaves).serialize())
        except Exception as error:
            why = _CALLS_BACK if "python_callback" in str(error) else _sentence(str(error))
            raise RuntimeError(f"{self.name} does not compile for {self.on}: {why}") from error


def trace(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Traced:
    """Trace `function` for arguments of which one at least has a NamedSharding on a mesh of `minipod.pods.mesh`.

    Numbers, arrays of this machine and what the jit calls static may stand beside it. ValueError where no argument says
    on which slice this runs, or two say different meshes; what the function itself raises goes through.
    """
    mesh = _mesh_of((arguments, keywords))
    found = slice_of_mesh(mesh)
    if found is None:
        raise Mistake("the arguments lie on devices of this machine: make their mesh with minipod.pods.mesh(…)")
    jitted: Any = function if hasattr(function, "trace") else jax.jit(function)
    traced = jitted.trace(*arguments, **keywords)
    infos = jax.tree.leaves(traced.args_info)
    leaves, put_back = _dynamic(arguments, keywords, [(info.shape, info.dtype) for info in infos])

    def flat(*leaves: Any) -> list[Any]:
        given, named = put_back(leaves)
        return jax.tree.leaves(jitted(*given, **named))

    flat.__name__ = name = getattr(function, "__name__", type(function).__name__)
    donated = tuple(i for i, info in enumerate(infos) if info.donated)
    leaves = [_placed(leaf, mesh) for leaf in leaves]
    return Traced(name, name, found, mesh, traced.jaxpr, leaves, donated, flat, _source(function))


class Child:
    """A process with a compiler, which compiles one program after the other. It starts at once, and ends with us."""

    def __init__(self, platform: str, kept: tuple[str, ...] = ()) -> None:
        """kept: settings of this environment that the compiler sees, too."""
        if lacking := missing(platform):
            raise Missing(f"not installed here: {' and '.join(lacking)} (`pip install {' '.join(lacking)}`)")
        settings = environment.clean(
            JAX_PLATFORMS="cpu",
            TPU_SKIP_MDS_QUERY="1",  # there is no metadata server to ask which TPU this is
            ALLOW_MULTIPLE_LIBTPU_LOAD="1",  # without it a second process aborts
        )
        settings |= {name: os.environ[name] for name in kept if name in os.environ}
        settings["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), settings.get("PYTHONPATH"))))
        self.platform = platform
        self._stderr = tempfile.TemporaryFile()
        command = [sys.executable, "-P", "-m", "minipod.pods.compile_process", str(os.getpid())]
        self._process = Program(command, stdout=subprocess.PIPE, stderr=self._stderr, env=settings)
        assert self._process.stdin and self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._reader = json_lines.Reader(self._answers.fileno())

    def ask(self, traced: Traced) -> dict[str, Any]:
        """What the compiler says of a program: see `minipod.pods.compile_process.of_export`.

        RuntimeError, in one sentence, where the compiler refuses the program or dies of it; TimeoutError after `LIMIT`
        seconds. After either the child is gone.
        """
        request = {
            "program": base64.b64encode(traced.exported()).decode(),
            **_place(traced.on),
            "devices": [device.id for device in traced.mesh.devices.flat],
            "axes": dict(traced.mesh.shape),
            "types": [kind.name for kind in traced.mesh.axis_types],
            "donated": traced.donated,
        }
        return self._answer(request, f"{traced.name} for {traced.on}", LIMIT, _nothing)

    def ask_file(self, on: Slice, name: str, limit: float, tell: Callable[[dict[str, Any]], None], **more: Any) -> Any:
        """What it says of the program `name` of a file: see `compile_process.of_file`; errors as of `ask`.

        limit: seconds. tell: is given what comes before the answer, `{"step": …, "seconds": …}` and `{"said": …}`.
        ValueError, in one sentence, for what the reader can mend.
        """
        request = {**_place(on), "on": str(on), "name": name, **more}
        answer = self._answer(request, f"{name} for {on}", limit, tell)
        if mistake := answer.get("mistake"):
            raise ValueError(mistake)
        return answer

    def _answer(
        self, request: dict[str, Any], what: str, limit: float, tell: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        end = time.monotonic() + limit
        try:
            json_lines.write(self._requests.fileno(), request)
            while (answer := self._reader.read(max(end - time.monotonic(), 0))).keys() & {"step", "said"}:
                tell(answer)
        except (EOFError, BrokenPipeError):
            code = self._process.wait()
            self._stderr.seek(0)
            raise RuntimeError(_death(code, self._stderr.read().decode(errors="replace"), what)) from None
        except TimeoutError:
            self.end()
            raise TimeoutError(f"{what} took more than {limit:g} s; more may be given it with --limit") from None
        if "error" in answer:
            raise RuntimeError(f"{what.replace(' for ', ' does not compile for ')}: {_sentence(answer['error'])}")
        return answer

    def end(self) -> None:
        self._process.end()
        self._answers.close()
        self._stderr.close()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def versions(platform: str = "tpu") -> dict[str, str]:
    """Of the packages that decide what comes out. The compiler's package must be there."""
    name = _installed(NEEDED[platform][0])[0].replace("_", "-")
    return {"jax": jax.__version__, name: version(name)}


def _mesh_of(arguments: Any) -> Any:
    shardings = (getattr(leaf, "sharding", None) for leaf in jax.tree.leaves(arguments))
    meshes = list(dict.fromkeys(s.mesh for s in shardings if isinstance(s, NamedSharding)))
    if not meshes:
        raise Mistake(
            "no argument has a NamedSharding, so nothing says on which slice this runs: give one a "
            "jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(…)))"
        )
    if len(meshes) > 1:
        raise Mistake("the arguments lie on different meshes: give them one")
    return meshes[0]


def _dynamic(
    arguments: Any, keywords: Any, infos: list[tuple[Any, Any]]
) -> tuple[list[Any], Callable[[Sequence[Any]], tuple[Any, Any]]]:
    """The leaves that a jit has traced, and how to put others in their places: what is static stays where it is.

    infos: shape and dtype of each that it has traced, in order.
    """
    leaves, tree = jax.tree.flatten((arguments, keywords))
    wanted = iter(infos)
    expected = next(wanted, None)
    places = []
    for i, leaf in enumerate(leaves):
        if expected is not None and _kind(leaf) == expected:
            places.append(i)
            expected = next(wanted, None)
    if expected is not None:
        raise Mistake("the arguments that this jit takes cannot be told from its static ones: give minipod plan FILE")

    def put_back(given: Sequence[Any]) -> tuple[Any, Any]:
        whole = list(leaves)
        for i, value in zip(places, given, strict=True):
            whole[i] = value
        return jax.tree.unflatten(tree, whole)

    return [leaves[i] for i in places], put_back


def _kind(leaf: Any) -> tuple[Any, Any] | None:
    """Shape and dtype as a jit sees a leaf; None for what is no value."""
    try:
        aval: Any = jax.typeof(leaf) if not isinstance(leaf, jax.ShapeDtypeStruct) else leaf
    except TypeError:
        return None
    return aval.shape, aval.dtype


def _placed(leaf: Any, mesh: Any) -> Any:
    """A leaf as a ShapeDtypeStruct on the mesh; one that has no sharding there is on every device whole."""
    if isinstance(getattr(leaf, "sharding", None), NamedSharding):
        return leaf
    shape, dtype = _kind(leaf) or ((), None)
    weak = getattr(leaf, "weak_type", isinstance(leaf, bool | int | float | complex))
    return jax.ShapeDtypeStruct(shape, dtype, weak_type=weak, sharding=NamedSharding(mesh, P()))


def _source(function: Any) -> Path | None:
    while isinstance(function := inspect.unwrap(function), partial):
        function = function.func
    code = getattr(function, "__code__", None)
    path = Path(code.co_filename) if code else None
    return path if path and path.is_file() else None


def _place(on: Slice) -> dict[str, Any]:
    return {"platform": on.generation.platform, "topology": on.topology, "options": on.options}


def _nothing(_: object) -> None:
    pass


def _death(code: int, said: str, what: str) -> str:
    """One sentence of what libtpu left when it ended the child."""
    if "lockfile" in said:
        return "another process holds libtpu, and does not share it: end that one, or remove /tmp/libtpu_lockfile"
    lines = [line for line in said.splitlines() if re.search(r"Check fail|^F\d{4}|^\w*Error: ", line)]
    killed = "it was killed, as the system does where memory runs out" if code == -signal.SIGKILL else ""
    ended = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
    why = killed or (_sentence(lines[-1]) if lines else ended)
    return f"the compiler died of {what}: {why}"


_VMEM = re.compile(r"allocating on stack for %?([\w.-]+) =.*?with size (\S+) and limit (\S+) exceeded", re.S)
_ALLOCATION = re.compile(r"Allocation \(size=(\d+)\) would exceed memory \(size=(\d+)\).*?space=vmem.*:: (\S+)", re.S)


def _sentence(message: str) -> str:
    """The first line of a compiler's message, without its codes; of a kernel's fast memory what it wants and has."""
    if found := _VMEM.search(message):
        option = "--xla xla_tpu_scoped_vmem_limit_kib=… raises the limit, smaller blocks do without it"
        return (
            f"the kernel {found[1]} wants {found[2]}iB of fast memory (VMEM), and {found[3]}iB are its limit; {option}"
        )
    if found := _ALLOCATION.search(message):
        wanted, there = (f"{int(n) / 2**20:g} MiB" for n in found.groups()[:2])
        return (
            f"the kernel {found[3]} wants {wanted} of fast memory (VMEM) at once, and {there} are there: smaller blocks"
        )
    first = next((line for line in message.splitlines() if line.strip()), "")
    return re.sub(r"^(?:[A-Z_]+: )?(?:E\d+: )?", "", first.strip())[:300] or "the compiler gives no reason"
