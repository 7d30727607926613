# %% first
from minipod import devices

devices.simulate(8)  # FILL IN
