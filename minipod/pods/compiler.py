"""Compile a program for a slice that you do not have, in a child process, and bring back what the compiler says.

A function is traced in this process, on a mesh of `minipod.pods.absent`, and sent to the child in the format of
`jax.export`; only a file's program is traced there. So a function defined in a notebook can be compiled like one in a
file, the process with libtpu runs no code of the notebook, and JAX may have started here with any devices. libtpu
aborts its process for unknown names, and sometimes because of its own faults: then only the child is lost, and the
error is one sentence.
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
from jax.experimental.layout import Format, Layout
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from minipod.pods.absent import slice_of_mesh
from minipod.pods.program_file import Mistake
from minipod.pods.slices import Slice
from minipod.processes import Program, environment, json_lines

LIMIT = 300.0  # seconds for one program
# The packages that compile for each platform; of alternatives, one is enough. Those of "tpu" are the extra `pods`.
NEEDED = {
    "tpu": (("libtpu",), ("flatbuffers",)),
    "cuda": (("jax_cuda13_plugin", "jax_cuda12_plugin"), ("flatbuffers",)),
}
ROOT = Path(__file__).parents[2]


class Missing(OSError):
    """Raised if no compiler for these devices is installed."""


def missing(platform: str) -> list[str]:
    """Return the packages to be installed with pip before anything can be compiled for "tpu" or "cuda"; [] if none."""
    lacking = [names[0].replace("_", "-") for names in NEEDED[platform] if not _installed(names)]
    return [f"{name}=={jax.__version__}" if name.startswith("jax-") else name for name in lacking]


def _installed(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name)]


_CALLS_BACK = (
    "jax.export cannot write its callbacks to Python, such as jax.debug.print: leave them out, or give the function's "
    "file to minipod plan"
)


@dataclass(frozen=True)
class Traced:
    """A program, traced for a slice, that the child compiles.

    name: by which the user asked for it. function: its own name. mesh: of its arguments' shardings. leaves: its
    arguments, flat, as ShapeDtypeStructs with shardings. donated: indices of donated leaves. flat: the program as a
    function of the leaves. layouts: see `_layouts`. source: the file that defines the function, if any.
    """

    name: str
    function: str
    on: Slice
    mesh: Any
    jaxpr: Any
    leaves: list[Any]
    donated: tuple[int, ...]
    flat: Callable[..., Any]
    layouts: list[list[Any]]
    source: Path | None

    def exported(self) -> bytes:
        """Return the program in the format of `jax.export`. Raises RuntimeError if it cannot be exported."""
        from jax import export

        jitted = jax.jit(self.flat, donate_argnums=self.donated)
        # The child reads this at once, with the same JAX: nothing has to stay compatible.
        checks = [export.DisabledSafetyCheck.custom_call("ragged_all_to_all")]
        try:
            made = export.export(jitted, platforms=[self.on.generation.platform], disabled_checks=checks)
            return bytes(made(*self.leaves).serialize())
        except Exception as error:
            why = _CALLS_BACK if "python_callback" in str(error) else _sentence(str(error))
            raise RuntimeError(f"{self.name} cannot be exported for {self.on}: {why}") from error


def trace(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Traced:
    """Trace `function` for arguments, at least one of which has a NamedSharding on a mesh of `minipod.pods.mesh`.

    The other arguments may be numbers, arrays on this machine, or static arguments of the jit. Raises ValueError if no
    argument has such a sharding, or two lie on different meshes; errors of the function itself are passed on.
    """
    mesh = _mesh_of((arguments, keywords))
    slice_ = slice_of_mesh(mesh)
    if slice_ is None:
        raise Mistake("the arguments' mesh is not a slice's: make it with minipod.pods.mesh(…)")
    jitted: Any = function if hasattr(function, "trace") else jax.jit(function)
    traced = jitted.trace(*arguments, **keywords)
    infos = jax.tree.leaves(traced.args_info)
    leaves, put_back = _dynamic(arguments, keywords, [(info.shape, info.dtype) for info in infos])

    def flat(*leaves: Any) -> list[Any]:
        given, named = put_back(leaves)
        return jax.tree.leaves(jitted(*given, **named))

    flat.__name__ = name = getattr(function, "__name__", type(function).__name__)
    donated = tuple(i for i, info in enumerate(infos) if info.donated)
    given = [_layout(leaf) for leaf in leaves]
    leaves = [_placed(leaf, mesh) for leaf in leaves]
    layouts = _layouts(flat, leaves, given)
    return Traced(name, name, slice_, mesh, traced.jaxpr, leaves, donated, flat, layouts, _source(function))


class Child:
    """A process that compiles programs; it starts at once and ends with this one. Raises Missing without a compiler."""

    def __init__(self, platform: str, kept: tuple[str, ...] = ()) -> None:
        """kept: environment variables that are passed on to the compiler."""
        if lacking := missing(platform):
            raise Missing(f"not installed here: {' and '.join(lacking)} (`pip install {' '.join(lacking)}`)")
        settings = environment.clean(
            JAX_PLATFORMS="cpu",
            TPU_SKIP_MDS_QUERY="1",  # no metadata server can say which TPU this is
            ALLOW_MULTIPLE_LIBTPU_LOAD="1",  # otherwise a second process aborts
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
        """Let the child compile a program; return the answer of `minipod.pods.compile_process.of_export`.

        Raises RuntimeError if the compiler refuses the program or dies; TimeoutError after `LIMIT` seconds. After a
        crash or timeout, the child is gone.
        """
        request = {
            "program": base64.b64encode(traced.exported()).decode(),
            **_place(traced.on),
            "devices": [device.id for device in traced.mesh.devices.flat],
            "axes": dict(traced.mesh.shape),
            "types": [kind.name for kind in traced.mesh.axis_types],
            "donated": traced.donated,
            "layouts": traced.layouts,
        }
        return self._answer(request, f"{traced.name} for {traced.on}", LIMIT, _nothing, ": minipod plan has --limit")

    def ask_file(self, on: Slice, name: str, limit: float, tell: Callable[[dict[str, Any]], None], **more: Any) -> Any:
        """Let the child compile the program `name` of a file; return the answer of `compile_process.of_file`.

        limit: seconds. tell: is called with each line before the answer, `{"step": …, "seconds": …}` or
        `{"printed": …}`. Raises ValueError for a mistake in the user's program; otherwise the errors of `ask`.
        """
        request = {**_place(on), "on": str(on), "name": name, **more}
        answer = self._answer(request, f"{name} for {on}", limit, tell, ": --limit allows more")
        if mistake := answer.get("mistake"):
            raise ValueError(mistake)
        return answer

    def _answer(
        self,
        request: dict[str, Any],
        what: str,
        limit: float,
        tell: Callable[[dict[str, Any]], None],
        advice: str,
    ) -> dict[str, Any]:
        end = time.monotonic() + limit
        try:
            json_lines.write(self._requests.fileno(), request)
            while (answer := self._reader.read(max(end - time.monotonic(), 0))).keys() & {"step", "printed"}:
                tell(answer)
        except (EOFError, BrokenPipeError):
            code = self._process.wait()
            self._stderr.seek(0)
            raise RuntimeError(_death(code, self._stderr.read().decode(errors="replace"), what)) from None
        except TimeoutError:
            self.end()
            raise TimeoutError(f"compiling {what} took more than {limit:g} s{advice}") from None
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
    """Return the versions of JAX and of the compiler's package, which must be installed."""
    name = _installed(NEEDED[platform][0])[0].replace("_", "-")
    return {"jax": jax.__version__, name: version(name)}


def _layouts(flat: Callable[..., Any], leaves: list[Any], given: list[Any]) -> list[list[Any]]:
    """Return the memory layouts of the arguments and of the results that the jit asks for; [] if there are none.

    given: layouts of the leaves, where the jit asks for none. Each result is None, "auto", or [dimensions from major to
    minor, tiling]. `jax.export` does not write them.
    """
    try:
        (call,) = jax.make_jaxpr(flat)(*leaves).eqns
    except ValueError:  # not a single jit, or one with compiler options: `exported` reports these
        return []
    asked, results = (call.params.get(name) or () for name in ("in_layouts", "out_layouts"))
    into = [_agreed(*pair) for pair in zip(asked or [None] * len(given), given, strict=True)]
    if all(layout is None for layout in (*into, *results)):
        return []
    return [[_written(layout) for layout in layouts] for layouts in (into, results)]


def _layout(leaf: Any) -> Any:
    """Return the memory layout that a ShapeDtypeStruct has from a Format; None for any other leaf."""
    return leaf.format.layout if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.sharding is not None else None


def _agreed(asked: Any, given: Any) -> Any:
    """Return the layout of an argument: the one that the jit asks for or, if it asks for none, the argument's own.

    As in JAX, one without tiling leaves the tiling open, and it is a mistake if they differ.
    """
    if asked is None or given is None:
        return given if asked is None else asked
    fits = asked is not Layout.AUTO and not asked.tiling and asked.major_to_minor == given.major_to_minor
    if not fits and asked != given:
        raise Mistake(
            f"an argument and the jit have different memory layouts, {given} and {asked}: give a Format to only one of "
            "them"
        )
    return asked


def _written(layout: Any) -> Any:
    if layout is None:
        return None
    return "auto" if layout is Layout.AUTO else [layout.major_to_minor, layout.tiling]


def _mesh_of(arguments: Any) -> Any:
    shardings = (getattr(leaf, "sharding", None) for leaf in jax.tree.leaves(arguments))
    meshes = list(dict.fromkeys(s.mesh for s in shardings if isinstance(s, NamedSharding)))
    if not meshes:
        raise Mistake(
            "no argument has a NamedSharding: give one as "
            "jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(…)))"
        )
    if len(meshes) > 1:
        raise Mistake("the arguments lie on different meshes: use one mesh for all of them")
    return meshes[0]


def _dynamic(
    arguments: Any, keywords: Any, infos: list[tuple[Any, Any]]
) -> tuple[list[Any], Callable[[Sequence[Any]], tuple[Any, Any]]]:
    """Return the leaves that a jit has traced, and a function that puts others in their places; static leaves stay.

    infos: shape and dtype of each traced leaf, in order.
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
        raise Mistake("it is not clear which arguments of the jit are static: give the function's file to minipod plan")

    def put_back(given: Sequence[Any]) -> tuple[Any, Any]:
        whole = list(leaves)
        for i, value in zip(places, given, strict=True):
            whole[i] = value
        return jax.tree.unflatten(tree, whole)

    return [leaves[i] for i in places], put_back


def _kind(leaf: Any) -> tuple[Any, Any] | None:
    """Shape and dtype of a leaf, as a jit sees it; None if it is not a value."""
    try:
        aval: Any = jax.typeof(leaf) if not isinstance(leaf, jax.ShapeDtypeStruct) else leaf
    except TypeError:
        return None
    extended = jax.numpy.issubdtype(aval.dtype, jax.dtypes.extended)
    return aval.shape, aval.dtype if extended else jax.dtypes.canonicalize_dtype(aval.dtype)


def _placed(leaf: Any, mesh: Any) -> Any:
    """Turn a leaf into a ShapeDtypeStruct on the mesh, without a layout; replicated, if it has no sharding there."""
    if isinstance(getattr(leaf, "sharding", None), NamedSharding):
        return leaf if _layout(leaf) is None else leaf.update(sharding=Format(None, leaf.sharding))
    shape, dtype = _kind(leaf) or ((), None)  # `_dynamic` has left out what is not a value
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


def _death(code: int, stderr: str, what: str) -> str:
    """Return why the child died, in one sentence, from its exit code and what libtpu printed."""
    if "lockfile" in stderr:
        return "libtpu cannot lock /tmp/libtpu_lockfile: end the process that holds it, or remove the file"
    lines = [line for line in stderr.splitlines() if re.search(r"Check fail|^F\d{4}|^\w*Error: ", line)]
    if code == -signal.SIGKILL:
        why = "it was killed, perhaps because memory ran out"
    elif lines:
        why = _sentence(lines[-1])
    else:
        why = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
    return f"the process that compiles {what} ended: {why}"


_VMEM = re.compile(r"allocating on stack for %?([\w.-]+) =.*?with size (\S+) and limit (\S+) exceeded", re.S)
_ALLOCATION = re.compile(r"Allocation \(size=(\d+)\) would exceed memory \(size=(\d+)\).*?space=vmem.*:: (\S+)", re.S)


def _sentence(message: str) -> str:
    """Shorten a compiler's message to its first line, without codes; for a kernel, name the fast memory it needs."""
    if parts := _VMEM.search(message):
        return (
            f"the kernel {parts[1]} wants {parts[2]}iB of fast memory (VMEM), but its limit is {parts[3]}iB: use "
            "smaller blocks, or raise the limit with minipod plan --xla xla_tpu_scoped_vmem_limit_kib=…"
        )
    if parts := _ALLOCATION.search(message):
        wanted, limit = (f"{int(n) / 2**20:g} MiB" for n in parts.groups()[:2])
        return (
            f"the kernel {parts[3]} wants {wanted} of fast memory (VMEM) at once, but only {limit} is available: use "
            "smaller blocks"
        )
    first = next((line for line in message.splitlines() if line.strip()), "")
    return re.sub(r"^(?:[A-Z_]+: )?(?:E\d+: )?", "", first.strip())[:300] or "the compiler gives no reason"
