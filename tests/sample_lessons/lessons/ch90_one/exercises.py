"""ch90_one: three exercises in one process."""

import jax
from jax.sharding import Mesh


def double(x: jax.Array) -> jax.Array:
    """Twice x, laid out as x is.

    x 的两倍，布局与 x 相同。
    """
    # TODO: multiply.
    # TODO：相乘。
    raise NotImplementedError


def total(x: jax.Array, mesh: Mesh) -> jax.Array:
    """The sum of x, known to every device. Budget: one all-reduce of 4 bytes.

    x 的总和，每个设备都要拿到。
    """
    # TODO: add.
    raise NotImplementedError


def count_to(n: int) -> int:
    """Print the numbers 1 to n, a line each; return n.

    打印 1 到 n，每行一个；返回 n。
    """
    # TODO: print.
    raise NotImplementedError
