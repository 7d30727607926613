"""A step of the decoder at the sizes of Llama 3.1, for `minipod plan`.

    minipod plan lessons/ch20_serving/served.py:batch_8_2k --on v5e:4x4 \\
        --mesh h=4,r=4

CUT_BATCH_LENGTH: one token for each of so many sequences, 70B, int8. `small_`
is the model of 8B, `prompt_` are 8 prompts of 512 tokens, `turned_` has its
cache in the other order, which `auto_` lets the compiler change.
"""

from functools import partial

from arrays import LLAMA_8B, LLAMA_70B, arguments
from decoder import program
from turned import turned


def step(mesh, cut, batch, length, sizes=LLAMA_70B, time=1):
    """(the step, its arguments), int8."""
    args = arguments(sizes, mesh, cut, True, batch, length, time)
    return program(sizes, mesh, cut, True), args


for cut in ("heads", "batch", "sequence"):
    for batch in (1, 4, 8, 16, 32, 64, 128, 256, 512):
        for k in (2, 4, 8):
            one = partial(step, cut=cut, batch=batch, length=1024 * k)
            globals()[f"{cut}_{batch}_{k}k"] = one
            small = partial(one, sizes=LLAMA_8B)
            globals()[f"small_{cut}_{batch}_{k}k"] = small
prompt_batch_8_2k = partial(step, cut="batch", batch=8, length=2048, time=512)
turned_128_2k = partial(turned, sizes=LLAMA_70B, batch=128, length=2048)
auto_128_2k = partial(turned_128_2k, auto=True)
