"""Steps handed over without waiting, as JAX's profiler sees host and device."""

import tempfile
import time

import jax
import jax.numpy as jnp

from minipod import profiles
from minipod.pictures import Timeline

SIZE, PREPARE = 1000, 0.02  # of the matrices; seconds that the host needs


def queued(steps: int) -> Timeline:
    """Run so many steps and wait once, at the end: what the host prepared and
    handed over when, and when the device computed, in milliseconds."""
    square = jax.jit(lambda a: a @ a @ a / SIZE**2)
    a = jnp.ones((SIZE, SIZE))
    square(a).block_until_ready()  # compiles
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for step in range(1, steps + 1):
                with jax.profiler.TraceAnnotation(f"step {step}"):
                    time.sleep(PREPARE)  # the host prepares a batch
                    a = square(a)
            a.block_until_ready()
        return timeline(profiles.read(folder), steps)


def timeline(profile: profiles.Profile, steps: int) -> Timeline:
    """A lane of the host's steps and one of the device's. ValueError where the
    profile has not as many operations in each step."""
    names = [f"step {step}" for step in range(1, steps + 1)]
    host = [next(n for n in profile.notes if n.name == name) for name in names]
    events = sorted(profile.events, key=lambda event: event.start)
    each, rest = divmod(len(events), steps)
    if rest or not each:
        raise ValueError(f"{len(events)} operations are not {steps} steps")
    device = [events[i * each : (i + 1) * each] for i in range(steps)]
    line, begin = Timeline(["host", "device"], "milliseconds"), host[0].start

    def ms(seconds: float) -> float:
        return 1e3 * (seconds - begin)

    handed = [ms(note.end) for note in host]
    done = [ms(max(e.end for e in own)) for own in device]
    for i in range(steps):
        start = ms(host[i].start), ms(device[i][0].start)
        line.span(0, start[0], handed[i], str(i + 1), i)
        line.span(1, start[1], done[i], str(i + 1), i)
    for now in sorted([*handed, *done]):
        counts = [sum(t <= now for t in times) for times in (handed, done)]
        key, step, other = "handed over", *counts
        if now in done:
            key, step, other = "finished step", counts[1], counts[0]
        line.step(now, [key, f"{now:.0f}", step, other, steps])
    return line
