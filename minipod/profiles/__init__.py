"""Show where a step's time goes: a recorded profile (`jax.profiler.trace`) with a lane for each device.

    profile = profiles.read("folder", compiled.as_text())    # the text is optional: it describes each operation
    profile.step(2).table()                                  # milliseconds by device; pictures.profile(…) draws them
    profiles.together(one, two)                              # two processes in one profile, with aligned clocks

An event of a profile is an operation of the compiled program on one device, from its start to its end. Lanes are
devices; the threads that simulate devices have no lanes of their own.

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
