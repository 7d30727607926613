"""Where a step's time goes: a recorded profile (`jax.profiler.trace`) as a lane for each device.

    profile = profiles.read("folder", compiled.as_text())    # the text is optional: it says what each operation is
    profile.step(2).table()                                  # milliseconds by device; pictures.profile(…) draws it
    profiles.together(one, two)                              # two processes, their clocks aligned

An event of a profile is an operation of the compiled program, on one device, from its start to its end. Whatever ran
the device, such as the threads that simulate it, is no lane of its own.

    >>> import jax
    >>> from minipod import profiles
    >>> step = jax.jit(lambda x: jax.numpy.tanh(x @ x))
    >>> x = step(jax.numpy.ones((256, 256)))
    >>> with jax.profiler.trace("folder"):
    ...     x = step(x).block_until_ready()
    >>> len(profiles.read("folder").lanes)
    1
"""

from minipod.profiles.aligned import together
from minipod.profiles.events import Event, Lane, Note
from minipod.profiles.profile import Profile
from minipod.profiles.reading import read

__all__ = ["Event", "Lane", "Note", "Profile", "read", "together"]
