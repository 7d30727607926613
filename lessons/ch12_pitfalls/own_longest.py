import sys

import numpy as np
from together import everyone, me, total

longest = int(sys.argv[1 + me])  # the longest example of this process
mine = np.tile(np.arange(1.0, longest + 1), (4, 1))  # padded to that
print(total(everyone(mine))[:8])
