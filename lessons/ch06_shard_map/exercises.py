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
    """The sum of each block of x, and the sum of all of x.

    x: f32[rows, columns], laid out on mesh by spec. The mesh has the Explicit axes "x" and
    "y"; spec names one of them, or both, perhaps for one dimension, as P(("x", "y"), None)
    does; along an axis that it does not name there are copies, which count once. Your function is compiled whole, with `jax.jit`.
    Returns (sums, total). sums: the sum of each block, at the block's place, f32[a, b]
    for a × b blocks, laid out by spec. total: f32[], on every device.
    Budget: each device sends at most 8 (n-1)/n bytes on n devices, by all-reduce: as
    much as it takes to add up 4 bytes.

    求 x 每一块的总和，以及整个 x 的总和。x 在 mesh 上按 spec 摆放。mesh 有 "x" 和 "y" 两个
    Explicit 轴；spec 写到其中一个或两个，两个也可能写在同一维上，如 P(("x", "y"), None)；没写到的
    轴上是副本，副本只算一次。函数会整个用 `jax.jit` 编译。返回 (sums, total)：sums 是各块的总和，放在该块的
    位置上，x 分成 a × b 块，它的形状就是 [a, b]，也按 spec 摆放；total 的形状是 []，
    每个设备上都有。预算：只用 all-reduce，共 n 个设备时，每个设备最多发送 8 (n-1)/n 字节，
    正好够做一次 4 字节的 all-reduce。
    """
    # TODO: add up the block, keep both dimensions, then sum along the axes of spec.
    # TODO：先把块内加起来，保留两个维，再沿 spec 里的轴求和。
    raise NotImplementedError


def mean_and_variance(
    x: jax.Array, guess: jax.Array, mesh: Mesh
) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of numbers that lie far from zero and close together.

    x: f32[rows, columns], laid out P("x", "y") on mesh, whose axes are Explicit. guess:
    f32[], a copy on every device: a number near the mean, such as the mean of the last
    batch. The variance is that of all N numbers (divided by N). f32 has 24 significant bits: the
    squares of numbers near 10,000 have no room for a variance near 1. Your function is
    compiled whole, with `jax.jit`.
    Returns (mean, variance), each f32[], on every device.
    Budget: each device sends at most 16 (n-1)/n bytes on n devices, by a single
    all-reduce (of 8 bytes).

    一批数离零很远，彼此却很接近，求它们的均值和方差。x 的形状是 [rows, columns]，在
    mesh 上按 P("x", "y") 摆放，两个轴都是 Explicit。guess 的形状是 []，每个设备上都有，
    它与均值相近，例如上一个批次的均值。方差是全部 N 个数的方差（除以 N）。
    f32 的有效数字只有 24 个二进制位，10,000 左右的数一平方，就容不下 1 左右的方差了。函数会整个用
    `jax.jit` 编译。依次返回均值和方差，形状都是 []，每个设备上都有。
    预算：只用一次 8 字节的 all-reduce，共 n 个设备时，每个设备最多发送 16 (n-1)/n 字节。
    """
    # TODO: what do the distances from guess tell, and how few numbers must travel?
    # TODO：与 guess 的差能告诉你什么，最少要传几个数？
    raise NotImplementedError


def first_largest(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Where is the largest number of all? Its index, as `jnp.argmax` counts.

    x: f32[N], cut along "x", the only axis of mesh, whose size divides N. The largest
    number may occur several times, in one shard or in several: the first one counts. None is NaN.
    Your function is compiled whole, with `jax.jit`.
    Returns the index in the whole of x, i32[], on every device.
    Budget: each device sends at most 16 (n-1)/n bytes on n devices, by all-reduce (8
    bytes in all).

    全体里最大的数在哪里？求它的下标，含义与 `jnp.argmax` 相同。x 的形状是 [N]，
    沿 "x" 切开；mesh 只有这一个轴，其大小能整除 N。最大的数可能出现好几次，在同一个
    分片里或在不同的分片里，以第一个为准。没有 NaN。函数会整个用 `jax.jit` 编译。
    返回它在整个 x 里的下标，i32，形状是 []，每个设备上都有。
    预算：只用 all-reduce（合计 8 字节的数），共 n 个设备时，每个设备最多发送
    16 (n-1)/n 字节。
    """
    # TODO: who holds the largest, and where does that shard begin?
    # TODO：最大的数在谁那里，那个分片从哪个下标开始？
    raise NotImplementedError


def smooth(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Each row becomes the mean of itself and its two neighbours.

    x: f32[rows, columns], its rows cut along "x", the only axis of mesh; every device has
    at least one row. Beyond the first and the last row everything is zero, and the mean
    always divides by 3. Your function is compiled whole, with `jax.jit`.
    Returns f32[rows, columns], laid out like x.
    Budget: each device sends at most two rows, by collective-permute.

    每一行变成它自己和上下两行的平均。x 的形状是 [rows, columns]，各行沿 "x" 切开，
    mesh 只有这一个轴；每个设备至少有一行。第一行之前、最后一行之后都当作零，平均时
    总是除以 3。函数会整个用 `jax.jit` 编译。返回值的形状和布局都与 x 相同。
    预算：只用 collective-permute，每个设备最多发送两行。
    """
    # TODO: which two rows does a device lack, and who has them?
    # TODO：每个设备缺哪两行，这两行在谁那里？
    raise NotImplementedError
