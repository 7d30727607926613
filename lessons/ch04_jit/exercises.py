"""The exercises of ch04_jit.

Work on your copy, answers/ch04_jit.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch04_jit.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


def product_layout(subscripts: str, left: P, right: P) -> tuple[P, list[str]]:
    """Predict the layout of a product and the axes of its partial sums.

    subscripts: two operands and a result, as `jnp.einsum` takes them, such as
    "ij,jk->ik".
    left and right: the specs of the operands; entries at the end may be
    missing. An entry is None, an axis, or a tuple of axes. A letter that occurs
    in both operands is sharded the same way in both, and no axis shards two
    letters.
    Returns (spec, axes).
    spec: the PartitionSpec of the result, with one entry for each letter of the
    result, in order.
    axes: the mesh axes along which the devices must add up partial sums, sorted
    by name.

    预测编译器会怎样摆放一个乘积，以及设备之间必须沿哪些轴求和。

    subscripts：两个操作数和结果，写法与 `jnp.einsum` 相同，例如 "ij,jk->ik"。
    left、right：两个操作数的分区方式，末尾的项可以省略；一项可以是 None、一个轴，或几个轴
    组成的元组。两个操作数里都有的字母，切法一定相同；同一个轴也不会用来切两个
    字母。
    返回 (spec, axes)。
    spec：结果的 PartitionSpec，结果的每个字母依次占一项。
    axes：列出设备之间必须沿哪些网格轴把部分和相加，按名字排序。
    """
    # TODO: which operand has the letter, and does the result keep it?
    # TODO：这个字母属于哪个操作数，结果里还有它吗？
    raise NotImplementedError


def quiet_product(
    left: jax.Array, right: jax.Array, mesh: Mesh, spec: P
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Lay out two matrices so that multiplying them sends nothing.

    left: f32[m, k], on one device.
    right: f32[k, n], also on one device.
    mesh: a mesh with the Auto axes "x" and "y".
    spec: the layout that the product must have; entries at the end may be
    missing. Every dimension of the matrices and of the product divides evenly
    over the axes that shard it.
    Returns (left, right, product).
    left and right: the arguments, laid out on `mesh` so that `jax.jit` computes
    their product in the layout `spec` without sending anything. No device may
    hold rows of `left` or columns of `right` that it does not need.
    product: f32[m, n], the product in the layout `spec`. You may compute it
    with or without `jit`.

    给两个矩阵安排好布局，使它们相乘时什么也不用发送。

    left：f32[m, k]，在一个设备上。
    right：f32[k, n]，也在一个设备上。
    mesh：有 "x" 和 "y" 两个 Auto 轴。
    spec：乘积应有的布局，末尾的项可以省略。两个矩阵和乘积的每一维，都能被切开它的轴的大小整除。
    返回 (left, right, product)。
    left、right：摆放在 mesh 上，使得用 `jax.jit` 计算它们的乘积时，结果的布局
    正好是 `spec`，一个字节也不用发送；同时没有设备持有自己用不到的 left 的行或
    right 的列。
    product：f32[m, n]，即乘积，布局为 spec。用不用 `jit` 来算，由你决定。
    """
    # TODO: which rows of left, and which columns of right, does a block need?
    # TODO：算一块乘积，需要 left 的哪些行、right 的哪些列？
    raise NotImplementedError


def known_to_all(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    """Give every device all of `x @ w`, and send as little as possible.

    x: f32[m, k], its rows sharded over "x". k may be smaller or larger than n.
    w: f32[k, n], a copy on every device.
    mesh: a mesh with one Auto axis, "x", whose size divides m.
    Returns `x @ w`, f32[m, n], all of it on every device. The whole function is
    compiled with `jax.jit`.
    Budget: all-gathers only. On d devices, each device sends at most (d-1)/d ×
    m × min(k, n) × 4 bytes, the cost of gathering the smaller of the two
    matrices, `x` and the product, once.

    计算 x 乘 w，让每个设备都拿到完整的乘积，发送的字节要尽量少。

    x：f32[m, k]，各行沿 "x" 切开。k 可能小于 n，也可能大于 n。
    w：f32[k, n]，每个设备上各有一份。
    mesh：只有一个 Auto 轴 "x"，它的大小能整除 m。
    返回 `x @ w`，即 f32[m, n]，每个设备上都有完整的一份。你的函数会整个交给
    `jax.jit` 编译。
    预算：只用 all-gather，共 d 个设备时，每个设备最多发送 (d-1)/d × m × min(k, n) × 4 字
    节，也就是把 x 和乘积中较小的那个收集一次。
    """
    # TODO: gather the smaller one: x, or the product?
    # TODO：收集较小的那个：是 x，还是乘积？
    raise NotImplementedError
