"""Run `minipod profile FILE…|FOLDER…|PROGRAM.py`: print where the time went, or a mistake in one sentence."""

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

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
    if arguments:
        raise ValueError(f"{arguments[0]}: arguments are for a program, but none is given")
    for text in texts:
        if not Path(text).is_file():
            raise FileNotFoundError(f"{text}: there is no such file")
    known = [Path(text).read_text(encoding="utf-8") for text in texts]
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
            raise ValueError(f"{program} failed: {done.first_failure}")
        texts = [text.read_text(encoding="utf-8") for text in sorted(Path(folder).rglob(_TEXTS))]
        return _of_program(program, f"{folder}/profile", texts)


def _of_program(program: str, folder: str, texts: Sequence[str]) -> Profile:
    for known in (texts, ()):  # the profile can be read without texts that cannot
        try:
            return read(folder, *known)
        except FileNotFoundError:
            raise ValueError(f"{program} left no profile: it ended without Python's normal exit") from None
        except ValueError:
            continue
    raise ValueError(f"{program} ran nothing on a device, or did not wait for it (jax.block_until_ready)")


def report(profile: Profile, top: int = 0) -> str:
    """Format the tables, the device for which the others waited longest, and the uncertainties.

    top: number of the longest operations to list.
    """
    milliseconds = 1e3 * (profile.end - profile.start)
    parts = [f"{milliseconds:.2f} ms" + (f"; steps {', '.join(map(str, profile.steps))}" if profile.steps else "")]
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
            "(this profile does not say which devices share a collective, so all are assumed to; for a recording, the "
            "text of the compiled program shows it: --text FILE)"
        )
    if top:
        longest = [(n, str(times), f"{1e3 * t:.2f}") for n, (times, t) in profile.operations().items()][:top]
        parts.append(str(Table(("longest operations", "times", "ms of all devices"), tuple(longest), kind="profile")))
    return "\n\n".join(parts)
