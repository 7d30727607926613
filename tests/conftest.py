"""Eight simulated devices in every test process, whichever test comes first."""

from minipod.devices import simulate

simulate(8)
