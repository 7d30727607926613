"""Record some steps of a program, and read the profile."""

import tempfile
from collections import defaultdict
from pathlib import Path

import jax
from jax.profiler import ProfileData

from minipod import profiles


def record(function, *arguments, steps=3):
    """The profile of so many steps, each of which waits for its result."""
    compiled = function.lower(*arguments).compile()
    jax.block_until_ready(compiled(*arguments))  # the first run takes longer
    folder = tempfile.mkdtemp()
    with jax.profiler.trace(folder):
        for i in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                jax.block_until_ready(compiled(*arguments))
    return profiles.read(folder, compiled.as_text())


def look_inside(folder):
    """The names of the file's planes; for each device the threads in them
    that ran it."""
    (file,) = Path(folder).rglob("*.xplane.pb")
    planes, ran = (
        list(ProfileData.from_file(str(file)).planes),
        defaultdict(set),
    )
    for line in (line for plane in planes for line in plane.lines):
        for event in line.events:
            said = dict(event.stats)
            if "device_ordinal" in said:
                ran[said["device_ordinal"]].add(line.name)
    return [plane.name for plane in planes], ran
