"""The exercises of ch06_shard_map.

Work on your copy, answers/ch06_shard_map.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch06_shard_map.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax import lax  # noqa: F401
from jax.sharding import Mesh  # noqa: F401
from jax.sharding import PartitionSpec as P


def block_sums(
    x: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array]:
    """Compute the sum of each block of `x`, and the sum of all of `x`.

    x: f32[rows, columns], laid out on `mesh` according to `spec`.
    mesh: a mesh with the Explicit axes "x" and "y".
    spec: a PartitionSpec that names one of the axes or both, perhaps both for
    one dimension, as in P(("x", "y"), None). Along an axis that `spec` does not
    name, the devices hold copies of the same block; such copies count once.
    Returns (sums, total). The whole function is compiled with `jax.jit`.
    sums: f32[a, b] for a × b blocks. Each entry is the sum of one block, at the
    position of that block. `sums` is laid out according to `spec`, too.
    total: f32[], on every device.
    Budget: all-reduces only. On n devices, each device sends at most 8 (n-1)/n
    bytes, the cost of one all-reduce of 4 bytes.

    求 x 每一块的总和，以及整个 x 的总和。

    x：f32[rows, columns]，在 mesh 上按 spec 摆放。
    mesh：有 "x" 和 "y" 两个 Explicit 轴。
    spec：其中写了一个或两个轴，两个轴也可能写在同一维上，如 P(("x", "y"),
    None)；沿没有写到的轴，各设备上是副本，副本只算一次。
    返回 (sums, total)。函数会整个用 `jax.jit` 编译。
    sums：x 分成 a × b 块时是 f32[a, b]，每一项是一块的总和，放在这一块的位置上，
    整个数组也按 spec 摆放。
    total：f32[]，每个设备上都有。
    预算：只用 all-reduce，共 n 个设备时，每个设备最多发送 8 (n-1)/n 字节，正好够对 4
    字节的数据做一次 all-reduce。
    """
    # TODO: add up the block, keep both dimensions, then sum along the axes of
    # spec.
    # TODO：先把块内加起来，保留两个维，再沿 spec 里的轴求和。
    raise NotImplementedError


def mean_and_variance(
    x: jax.Array, guess: jax.Array, mesh: Mesh
) -> tuple[jax.Array, jax.Array]:
    """Compute the mean and variance of numbers close together but far from 0.

    x: f32[rows, columns], laid out as P("x", "y").
    guess: f32[], a copy on every device: a number near the mean, such as the
    mean of the last batch. f32 has 24 significant bits, so the squares of
    numbers near 10,000 have no room for a variance near 1.
    mesh: a mesh with the Explicit axes "x" and "y".
    Returns (mean, variance), each f32[], on every device. To get the variance,
    divide the sum of the squared deviations by the number of elements of `x`,
    not by one less. The whole function is compiled with `jax.jit`.
    Budget: a single all-reduce of 8 bytes. On n devices, each device sends
    16 (n-1)/n bytes for it.

    一批数离零很远，彼此却很接近，求它们的均值和方差。

    x：f32[rows, columns]，按 P("x", "y") 摆放。
    guess：f32[]，每个设备上各有一份，它与均值相近，例如上一个批次的均值。f32 的有效数字只
    有 24 个二进制位，10,000 左右的数平方之后，这 24 位就容不下 1 左右的方差了。
    mesh：有 "x" 和 "y" 两个 Explicit 轴。
    返回 (mean, variance)，即均值和方差，都是 f32[]，每个设备上都有。方差按全部
    N 个数来算，除数是 N。函数会整个用 `jax.jit` 编译。
    预算：只用一次 8 字节的 all-reduce，共 n 个设备时，每个设备最多发送 16 (n-1)/n 字节。
    """
    # TODO: what do the differences from guess tell you, and how few numbers
    # must be sent?
    # TODO：与 guess 的差能告诉你什么，最少要传几个数？
    raise NotImplementedError


def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Find the index of the largest number in `x`, as `jnp.argmax` does.

    x: f32[N], sharded over "x". The largest number may occur several times, in
    one shard or in several. Return its first position. `x` contains no NaN.
    mesh: a mesh with one Explicit axis, "x", whose size divides N.
    Returns i32[], the index in the whole of `x`, on every device. The whole
    function is compiled with `jax.jit`.
    Budget: all-reduces only, of 8 bytes in all: on n devices, each device sends
    at most 16 (n-1)/n bytes.

    整个数组里最大的数在哪里？求它的下标，与 `jnp.argmax` 给出的下标相同。

    x：f32[N]，沿 "x" 切开。最大的数可能出现好几次，在同一个分片里或在不同的分片里，以第一
    个为准。没有 NaN。
    mesh：只有一个 Explicit 轴 "x"，它的大小能整除 N。
    返回 i32[]，即这个数在整个 x 里的下标，每个设备上都有。函数会整个用 `jax.jit` 编译。
    预算：只用 all-reduce（合计 8 字节），共 n 个设备时，每个设备最多发送 16
    (n-1)/n 字节。
    """
    # TODO: which device holds the largest, and where does its shard begin?
    # TODO：最大的数在哪个设备上，那个分片从哪个下标开始？
    raise NotImplementedError


def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Replace each row by the mean of itself and its two neighbours.

    x: f32[rows, columns], its rows sharded over "x"; every device has at least
    one row.
    mesh: a mesh with one Explicit axis, "x".

    Beyond the first and the last row everything is zero, and the sum is
    always divided by 3.
    Returns f32[rows, columns], sharded the same way as `x`. The whole function
    is compiled with `jax.jit`.
    Budget: each device sends at most two rows, by collective-permute.

    把每一行换成这一行与上下两行的平均值。

    x：f32[rows, columns]，各行沿 "x" 切开，每个设备至少有一行。
    mesh：只有一个 Explicit 轴 "x"。

    第一行之前、最后一行之后都当作零，平均时总是除以 3。
    返回 f32[rows, columns]，布局与 x 相同。函数会整个用 `jax.jit` 编译。
    预算：只用 collective-permute，每个设备最多发送两行。
    """
    # TODO: which two rows does a device lack, and which devices have them?
    # TODO：每个设备缺哪两行，这两行在哪些设备上？
    raise NotImplementedError
