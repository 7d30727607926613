import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: this answer believes that sent[i][j] is what device i gets from device j: it reads the table with rows and columns exchanged.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)
    mine = [sent[j][me] for j in range(n)]
    input_offsets = [sum(mine[:j]) for j in range(n)]
    begins = [[min(bound, sum(sent[j][:i])) for i in range(n + 1)] for j in range(n)]
    output_offsets = [begins[j][me] for j in range(n)]
    send_sizes = [begins[j][me + 1] - begins[j][me] for j in range(n)]
    recv_sizes = [begins[me][j + 1] - begins[me][j] for j in range(n)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
