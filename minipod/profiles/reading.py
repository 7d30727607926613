"""Read what `jax.profiler.trace` recorded: the operations of each device, whoever ran it, and the program's own notes.

On a TPU a device has a plane of its own, and its operations stand in two lines of it; on a GPU, in a line for each of
its streams, kernel by kernel. Simulated devices have none: threads of one pool run all of them, any thread any device,
and an event says itself whose it is (`device_ordinal`).
"""

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jax.profiler import ProfileData

from minipod.profiles.events import Event, Lane, Note, met
from minipod.profiles.operations import AROUND, Known, kernel, kind, of_texts, operation
from minipod.profiles.profile import Profile, whole

ENDING = ".xplane.pb"
_LAST = "Task Environment"  # the plane that is written when a trace ends
_LINES = ("XLA Ops", "Async XLA Ops")  # of a TPU's plane: what its core does, and what is under way beside it


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Python 3.13 warns that classes which ProfileData makes when first asked for statistics name no module; where
    warnings are errors, as in many a test run, XLA would abort the process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "builtin type .* has no __module__ attribute", DeprecationWarning)
        yield


@_quietly()
def read(path: str | Path, *texts: str) -> Profile:
    """The profile in a file, or the newest in a folder that was given to `jax.profiler.trace`.

    Where that has a file for each host, each is a process, by its own clock (`together` sets clocks).

    texts: `compiled.as_text()` of the programs that ran. With them a collective is known for what it is, and by whom
    it is shared. Without, it is recognised by its name, and all devices are taken to share it.
    FileNotFoundError or ValueError, in one sentence, for what is no such profile.
    """
    files = found(Path(path))
    known = of_texts(texts)
    events, notes = list[Event](), list[Note]()
    for process, file in enumerate(files):
        planes = list(_planes(file))
        zero = _zero(planes)
        places = _places(planes)
        for plane in planes:
            if plane.name.startswith("/device:GPU:"):
                events += _of_gpu(plane, process, zero)
            elif plane.name.startswith("/device:"):
                events += _of_device(plane, process, zero)
            elif plane.name.startswith("/host:"):
                events += _simulated(plane, process, zero, known, places)
                notes += _notes(plane, process, zero)
    if not events and (strange := _strange(files)):
        raise ValueError(
            f"{path} is of {strange}, and its lines are not understood: only those of TPUs, of GPUs and of simulated "
            "devices are"
        )
    if not events and any("hlo_op" in _stats(event) for event in _of_hosts(files)):
        raise ValueError(
            f"{path} has operations that do not say as we know it on which device they ran: it was recorded by another "
            "version of JAX's profiler"
        )
    if not events:
        raise ValueError(
            f"{path} has no operation of a device in it: record it while a compiled program runs, and wait for the "
            "result (jax.block_until_ready) before the trace ends"
        )
    return whole(met(events), notes)


def _strange(files: Iterable[Path]) -> str:
    """The plane of a device that has operations, but none where a TPU has them; "" where there is none."""
    planes = (p for file in files for p in _planes(file) if p.name.startswith("/device:"))
    return next((p.name for p in planes if any(True for line in p.lines for _ in line.events)), "")


def _of_hosts(files: Iterable[Path]) -> Iterator[Any]:
    planes = (p for file in files for p in _planes(file) if p.name.startswith("/host:"))
    return (event for plane in planes for line in plane.lines for event in line.events)


def found(path: Path) -> list[Path]:
    """The files of one recording: the file itself, or all of the newest folder that has any."""
    if path.is_file():
        if not path.name.endswith(ENDING):
            raise ValueError(f"{path.name} is no profile that can be read: its name does not end in {ENDING}")
        return [path]
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder")
    every = sorted(path.rglob(f"*{ENDING}"), key=lambda file: (file.parent.name, file.name))
    if not every:
        raise FileNotFoundError(f"{path}: there is no {ENDING} in this folder; jax.profiler.trace(folder) writes one")
    return [file for file in every if file.parent == every[-1].parent]


def _planes(file: Path) -> list[Any]:
    data = file.read_bytes()
    if not data:
        raise ValueError(f"{file.name} is empty: a profile is written when the trace ends")
    try:
        planes = list(ProfileData.from_serialized_xspace(data).planes)
    except (RuntimeError, ValueError, TypeError):
        raise ValueError(f"{file.name} cannot be read: it is cut off, or not a profile of jax.profiler") from None
    if all(plane.name != _LAST for plane in planes):
        raise ValueError(f"{file.name} has no «{_LAST}», with which a profile ends: it is cut off")
    return planes


def _stats(of: Any) -> dict[str, Any]:
    return dict(of.stats)


def _zero(planes: Iterable[Any]) -> float:
    """Events count from here, in nanoseconds since the epoch."""
    return next((float(_stats(p).get("profile_start_time", 0)) for p in planes if p.name == _LAST), 0.0)


def _places(planes: Iterable[Any]) -> dict[str, dict[int, int]]:
    """By module: which position of the program is which device; the launch of each says that."""
    places: dict[str, dict[int, int]] = {}
    for plane in (p for p in planes if p.name.startswith("/host:")):
        for event in (e for line in plane.lines for e in line.events if "::Execute" in e.name):
            said = _stats(event)
            if "global_device_id" in said:
                position = int(said.get("replica", 0)) + int(said.get("partition", 0))
                places.setdefault(str(said.get("name")), {})[position] = int(said["global_device_id"])
    return places


def _simulated(
    plane: Any, process: int, zero: float, known: dict[str, Known], places: dict[str, dict[int, int]]
) -> Iterator[Event]:
    for event in (event for line in plane.lines for event in line.events):
        if event.name.startswith("end:") or not event.duration_ns:  # marks
            continue
        said = _stats(event)
        if "device_ordinal" not in said or "hlo_op" not in said:
            continue
        name, opcode = operation(str(said["hlo_op"]))
        if opcode in AROUND:
            continue
        module = str(said.get("hlo_module", ""))
        lane = Lane(process, int(said["device_ordinal"]))
        what, group = kind(opcode), ()
        if module in known:
            what, groups = known[module].get(name, ("compute", ()))
            at = places.get(module, {})
            here = (tuple(Lane(process, at[i]) for i in each) for each in groups if all(i in at for i in each))
            group = next((each for each in here if lane in each), ())  # none where other processes take part
        yield _event(lane, f"{module}/{name}" if module else name, what, group, zero, event)


def _of_device(plane: Any, process: int, zero: float) -> Iterator[Event]:
    """Of a TPU: one lane. What encloses others is left out.

    A TPU's compiler names the fusions that start and end a collective `async-collective-start` and `…-done`, whichever
    collective it is; a fusion that goes on with one while it computes counts as computing.
    """
    number = plane.name.rpartition(":")[2]
    lane = Lane(process, int(number) if number.isdigit() else 0)
    for line in (line for line in plane.lines if line.name in _LINES):
        for event in line.events:
            name, opcode = operation(event.name)
            what = "async-collective" if name.startswith("async-collective-") else kind(opcode)
            if opcode in AROUND or not event.duration_ns:
                continue
            if what == "compute" and (line.name == _LINES[1] or opcode.endswith(("-start", "-done"))):
                continue  # a copy beside the core, and its ends
            yield _event(lane, name, what, (), zero, event)


def _of_gpu(plane: Any, process: int, zero: float) -> Iterator[Event]:
    """Of a GPU: one lane for all its streams; what the program did not ask for, such as copies from the host, is none.

    A command buffer (CUDA graph) has one name for all its kernels: each then goes by its kernel's.
    """
    lane = Lane(process, int(plane.name.rpartition(":")[2]))
    for event in (e for line in plane.lines if line.name.startswith("Stream") for e in line.events):
        asked = str(_stats(event).get("hlo_op", ""))
        if not asked or not event.duration_ns:
            continue
        name = event.name if asked.startswith("command_buffer") else asked
        what = kind(operation(name)[1])
        yield _event(lane, name, kernel(event.name) if what == "compute" else what, (), zero, event)


def _event(lane: Lane, name: str, what: str, group: tuple[Lane, ...], zero: float, event: Any) -> Event:
    start = (zero + event.start_ns) / 1e9
    return Event(lane, name, what, start, start + event.duration_ns / 1e9, group)


def _notes(plane: Any, process: int, zero: float) -> Iterator[Note]:
    for event in (event for line in plane.lines for event in line.events):
        if event.name.startswith(("$", "end:", "Threadpool")) or "::" in event.name or not event.duration_ns:
            continue
        said = _stats(event)
        if "device_ordinal" in said:
            continue
        step = said.get("step_num")
        start = (zero + event.start_ns) / 1e9
        yield Note(process, event.name, start, start + event.duration_ns / 1e9, None if step is None else int(step))
