"""Eight simulated devices in every test process, whichever test comes first."""

import os

from minipod.devices import simulate

os.environ["LESSONS_SURFACE_FAULTS"] = "1"  # the checker tells a fault of its own; here it has to fail
simulate(8)
