"""What the TPU's compiler makes of found.py: found_tpu.txt.

`python -m lessons.ch08_three_ways.record_tpu`, in an environment with the extra
`pods`; no TPU is needed.
"""

from importlib.metadata import version
from pathlib import Path

import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh

from lessons.ch08_three_ways.what_is_sent import report

chips = topologies.get_topology_desc(platform="tpu", topology_name="v5e:2x4")
mesh = Mesh(np.array(chips.devices), ("x",))
with Path(__file__).with_name("found_tpu.txt").open("w") as file:
    print("TPU v5e, 8 chips, libtpu", version("libtpu"), file=file)
    print(report(mesh), file=file)
