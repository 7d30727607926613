"""Record some steps of a program, and read the profile."""

import tempfile

import jax

from minipod import profiles


def record(function, *arguments, steps=3):
    """The profile of so many steps, each of which waits for its result."""
    compiled = function.lower(*arguments).compile()
    jax.block_until_ready(compiled(*arguments))  # the first run is special
    folder = tempfile.mkdtemp()
    with jax.profiler.trace(folder):
        for i in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=i):
                jax.block_until_ready(compiled(*arguments))
    return profiles.read(folder, compiled.as_text())
