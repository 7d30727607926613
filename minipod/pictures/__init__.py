"""Draw pictures of live objects, such as meshes and shardings, and of figures, such as curves and plans.

`play` shows, frame by frame, what a program recorded in a `Trace`, a `Timeline` or a table while it ran. Most other
functions return a `Picture`: a notebook shows it, `print` gives its alt text, and `save(path)` writes an SVG file.
For pictures of your own, `minipod.drawing` has the canvas.

    >>> import jax
    >>> from minipod import pictures
    >>> picture = pictures.mesh(jax.make_mesh((8,), ("data",)))
    >>> print(picture)
    A mesh of 8 devices, data: 8: devices 0–7, in this order.
    >>> path = picture.save("mesh.svg")
"""

from minipod.drawing.svg import LABELS, Picture, colour, load
from minipod.pictures.call_order import calls
from minipod.pictures.chips_and_links import torus
from minipod.pictures.communication import traffic
from minipod.pictures.curves import curve
from minipod.pictures.flows import flow
from minipod.pictures.hosts_and_devices import devices, hosts
from minipod.pictures.placement import mesh, sharding
from minipod.pictures.plans import plans
from minipod.pictures.player import Player, play
from minipod.pictures.profile_lanes import profile
from minipod.pictures.rings import all_reduce, ring
from minipod.pictures.schedules import schedule
from minipod.pictures.timelines import Timeline
from minipod.pictures.traces import Cell, Move, Trace, before_and_after

__all__ = [
    "LABELS", "Cell", "Move", "Picture", "Player", "Timeline", "Trace", "all_reduce", "before_and_after", "calls",
    "colour", "curve", "devices", "flow", "hosts", "load", "mesh", "plans", "play", "profile", "ring", "schedule",
    "sharding", "torus", "traffic",
]  # fmt: skip
