"""Read what `jax.profiler.trace` recorded: the operations of each device, and the program's notes.

Each TPU has a plane with its operations in two lines; each GPU has a plane with a line of kernels for each stream.
Simulated devices have no planes: the threads of one pool run all of them, and each event has the number of its device
(`device_ordinal`).
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
_LINES = ("XLA Ops", "Async XLA Ops")  # lines of a TPU's plane: operations of its core, and asynchronous ones


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Ignore a warning of Python 3.13 about classes without a module, which ProfileData makes on first use: if warnings
    are errors, as in many test runs, XLA would abort the process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "builtin type .* has no __module__ attribute", DeprecationWarning)
        yield


@_quietly()
def read(path: str | Path, *texts: str) -> Profile:
    """Return the profile in a file, or the newest in a folder that was given to `jax.profiler.trace`.

    If the recording has a file for each host, each file counts as a process with its own clock; `together` aligns them.

    texts: `compiled.as_text()` of the programs that ran; they show what each operation is, and which devices share a
    collective. Without them, a collective is recognised by its name, and all devices are assumed to share it.
    Raises FileNotFoundError or ValueError if there is no profile that can be read.
    """
    files = recording(Path(path))
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
        raise ValueError(f"{path} has events of {strange}, but in lines that minipod cannot read")
    if not events and any("hlo_op" in (s := _stats(e)) and "device_ordinal" not in s for e in _of_hosts(files)):
        raise ValueError(
            f"{path} has operations that do not say on which device they ran: record it with a version of JAX that "
            "minipod supports"
        )
    if not events:
        raise ValueError(
            f"{path} has no operation of a device: run a compiled program, and wait for its result "
            "(jax.block_until_ready), before the recording ends"
        )
    return whole(met(events), notes)


def _strange(files: Iterable[Path]) -> str:
    """Return the first device plane with events in a line that is not read; "" without one."""
    for plane in (p for file in files for p in _planes(file) if p.name.startswith("/device:")):
        read = ("Stream",) if plane.name.startswith("/device:GPU:") else _LINES
        if any(True for line in plane.lines if not line.name.startswith(read) for _ in line.events):
            return plane.name
    return ""


def _of_hosts(files: Iterable[Path]) -> Iterator[Any]:
    planes = (p for file in files for p in _planes(file) if p.name.startswith("/host:"))
    return (event for plane in planes for line in plane.lines for event in line.events)


def recording(path: Path) -> list[Path]:
    """Return the files of one recording: the file itself, or all files of the newest folder that has any."""
    if path.is_file():
        if not path.name.endswith(ENDING):
            raise ValueError(f"{path.name}: the name of a profile ends in {ENDING}")
        return [path]
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder")
    every = sorted(path.rglob(f"*{ENDING}"), key=lambda file: (file.parent.name, file.name))
    if not every:
        raise FileNotFoundError(
            f"{path}: there is no {ENDING} file in this folder; jax.profiler.trace(folder) writes one when it ends"
        )
    return [file for file in every if file.parent == every[-1].parent]


def _planes(file: Path) -> list[Any]:
    data = file.read_bytes()
    if not data:
        raise ValueError(f"{file.name} is empty: a profile is written when the trace ends")
    try:
        planes = list(ProfileData.from_serialized_xspace(data).planes)
    except (RuntimeError, ValueError, TypeError):
        raise ValueError(f"{file.name} cannot be read: it is incomplete, or not a profile of jax.profiler") from None
    if all(plane.name != _LAST for plane in planes):
        raise ValueError(f"{file.name} has no plane {_LAST!r}, which is written last: record it again")
    return planes


def _stats(of: Any) -> dict[str, Any]:
    return dict(of.stats)


def _zero(planes: Iterable[Any]) -> float:
    """Return the start of the recording, in nanoseconds since the epoch; times of events count from it."""
    return next((float(_stats(p).get("profile_start_time", 0)) for p in planes if p.name == _LAST), 0.0)


def _places(planes: Iterable[Any]) -> dict[str, dict[int, int]]:
    """Module → position in the program → device, from the launches of the program."""
    places: dict[str, dict[int, int]] = {}
    for plane in (p for p in planes if p.name.startswith("/host:")):
        for event in (e for line in plane.lines for e in line.events if "::Execute" in e.name):
            stats = _stats(event)
            if "global_device_id" in stats:
                position = int(stats.get("replica", 0)) + int(stats.get("partition", 0))
                places.setdefault(str(stats.get("name")), {})[position] = int(stats["global_device_id"])
    return places


def _simulated(
    plane: Any, process: int, zero: float, known: dict[str, dict[str, Known]], places: dict[str, dict[int, int]]
) -> Iterator[Event]:
    for event in (event for line in plane.lines for event in line.events):
        if event.name.startswith("end:") or not event.duration_ns:  # marks
            continue
        stats = _stats(event)
        if "device_ordinal" not in stats or "hlo_op" not in stats:
            continue
        name, opcode = operation(str(stats["hlo_op"]))
        if opcode in AROUND:
            continue
        module = str(stats.get("hlo_module", ""))
        lane = Lane(process, int(stats["device_ordinal"]))
        what, group, scope = kind(opcode), (), ""
        if module in known:
            what, groups, scope = known[module].get(name, Known())
            at = places.get(module, {})
            here = (tuple(Lane(process, at[i]) for i in each) for each in groups if all(i in at for i in each))
            group = next((each for each in here if lane in each), ())  # () if other processes share it
        yield _event(lane, f"{module}/{name}" if module else name, what, group, zero, event, scope)


def _of_device(plane: Any, process: int, zero: float) -> Iterator[Event]:
    """Yield the events of a TPU, in one lane, without operations that enclose others.

    The TPU compiler names the fusions that start and end any collective `async-collective-start` and `…-done`; a fusion
    that continues a collective while it computes counts as compute.
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
                continue  # an asynchronous copy, its start or its done
            yield _event(lane, name, what, (), zero, event)


def _of_gpu(plane: Any, process: int, zero: float) -> Iterator[Event]:
    """Yield the events of a GPU, all streams in one lane, without those that no program asked for, such as host copies.

    All events of a command buffer (CUDA graph) have its name, so each is named after its kernel instead.
    """
    lane = Lane(process, int(plane.name.rpartition(":")[2]))
    for event in (e for line in plane.lines if line.name.startswith("Stream") for e in line.events):
        asked = str(_stats(event).get("hlo_op", ""))
        if not asked or not event.duration_ns:
            continue
        name = event.name if asked.startswith("command_buffer") else asked
        what = kind(operation(name)[1])
        yield _event(lane, name, kernel(event.name) if what == "compute" else what, (), zero, event)


def _event(
    lane: Lane, name: str, what: str, group: tuple[Lane, ...], zero: float, event: Any, scope: str = ""
) -> Event:
    start = (zero + event.start_ns) / 1e9
    return Event(lane, name, what, start, start + event.duration_ns / 1e9, group, scope)


def _notes(plane: Any, process: int, zero: float) -> Iterator[Note]:
    for event in (event for line in plane.lines for event in line.events):
        if event.name.startswith(("$", "end:", "Threadpool")) or "::" in event.name or not event.duration_ns:
            continue
        stats = _stats(event)
        if "device_ordinal" in stats:
            continue
        step = stats.get("step_num")
        start = (zero + event.start_ns) / 1e9
        yield Note(process, event.name, start, start + event.duration_ns / 1e9, None if step is None else int(step))
