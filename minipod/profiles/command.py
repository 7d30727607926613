"""Run `minipod profile FILE…|FOLDER…|PROGRAM.py`: print where the time went, or a mistake in one sentence."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from minipod.hlo.text import from_file
from minipod.profiles.aligned import together
from minipod.profiles.profile import Profile
from minipod.profiles.reading import read
from minipod.tables import Table

_TEXTS = "*.cpu_after_optimizations.txt"


def profiled(
    paths: Sequence[str], texts: Sequence[str], arguments: Sequence[str], devices: int, limit: float
) -> Profile:
    """Run a program and return its profile, or read recordings, one per process. Raises ValueError or OSError."""
    if any(path.endswith(".py") for path in paths):
        if len(paths) > 1 or texts:
            raise ValueError("give either recordings or a single program; --text is for recordings only")
        return recorded(paths[0], arguments, devices, limit)
    known = [from_file(text) for text in texts]
    every = [read(path, *known) for path in paths]
    return every[0] if len(every) == 1 else together(*every)


def recorded(program: str, arguments: Sequence[str], devices: int, limit: float) -> Profile:
    """Run a program in its own process, on simulated devices, and return its profile. Raises ValueError if it fails."""
    from minipod.cluster import run
    from minipod.cluster.launch import find

    path = find(program)
    with tempfile.TemporaryDirectory() as folder:
        dump = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder}/hlo --xla_dump_hlo_as_text".strip()
        done = run(
            Path(__file__).with_name("recording.py"), folder, str(path), *arguments,
            processes=1, devices=devices, limit=limit, check=False, env={"XLA_FLAGS": dump},
            show=lambda _, line: print(line, file=sys.stderr, flush=True),
        )  # fmt: skip
        if done.first_failure:
            raise ValueError(f"{program}: {done.first_failure}")
        texts = [text.read_text(encoding="utf-8") for text in sorted(Path(folder).rglob(_TEXTS))]
        return _of_program(program, f"{folder}/profile", texts)


def _of_program(program: str, folder: str, texts: Sequence[str]) -> Profile:
    with contextlib.suppress(OSError, ValueError):  # the profile can be read without texts that cannot
        return read(folder, *texts)
    try:
        return read(folder)
    except FileNotFoundError:
        reason = "it left no profile: it must end normally, not through os._exit"
    except ValueError as error:
        reason = str(error).replace(folder, "its profile")
    raise ValueError(f"{program}: {reason}")


def report(profile: Profile, top: int = 0) -> str:
    """Format the tables, the device for which the others waited longest, and the uncertainties.

    top: number of the longest operations to list.
    """
    milliseconds = 1e3 * (profile.end - profile.start)
    within = [note for note in profile.notes if note.end > profile.start and note.start < profile.end]
    steps = ", ".join(map(str, sorted({note.step for note in within if note.step is not None})))
    parts = [f"{milliseconds:.2f} ms" + (f"; step{'s' * (',' in steps)} {steps}" if steps else "")]
    parts.append(str(profile.table()))
    rows = tuple(
        (kind, str(times), f"{1e3 * exposed:.2f}", f"{1e3 * hidden:.2f}")
        for kind, (times, exposed, hidden) in profile.kinds().items()
    )
    empty = "no collectives"
    parts.append(str(Table(("ms of all devices", "times", "exposed", "hidden"), rows, kind="profile", empty=empty)))
    if late := profile.straggler():
        lane, seconds = late
        parts.append(f"waited for most: process {lane.process}, {lane}, {1e3 * seconds:.2f} ms of the others' time")
    if profile.assumed:
        parts.append(
            "(for some collectives, all devices that ran one are assumed to share it; in a recording of simulated "
            "devices, --text FILE can tell)"
        )
    if top:
        longest = [(n, str(times), f"{1e3 * t:.2f}") for n, (times, t) in profile.operations().items()][:top]
        parts.append(str(Table(("longest operations", "times", "ms of all devices"), tuple(longest), kind="profile")))
    return "\n\n".join(parts)
