import sys

import numpy as np
from together import everyone, me, total

from minipod.guard import watched

longest = int(sys.argv[1 + me])
mine = np.tile(np.arange(1.0, longest + 1), (4, 1))
print(watched(total, "total")(everyone(mine)))
