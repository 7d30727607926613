import sys

import numpy as np
from jax.experimental.multihost_utils import process_allgather
from together import everyone, me, total

longest = int(sys.argv[1 + me])  # the longest example of this process
mine = np.tile(np.arange(1.0, longest + 1), (4, 1))
width = int(process_allgather(np.int32(longest)).max())  # of all
mine = np.pad(mine, ((0, 0), (0, width - longest)))
print(total(everyone(mine))[:8])
