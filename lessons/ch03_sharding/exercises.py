"""The exercises of ch03_sharding.

Work on your copy, answers/ch03_sharding.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch03_sharding.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P


def spec_for_picture(
    x: jax.Array, mesh: Mesh, picture: dict[jax.Device, tuple[slice, ...]]
) -> jax.Array:
    """Lay out `x` on a mesh exactly as a picture shows it.

    x: f32[rows, columns], on one device.
    mesh: a mesh with the two axes "x" and "y".
    picture: a dict that maps each device to the block of `x` that it holds,
    given as a slice of rows and a slice of columns, such as
    `(slice(0, 2), slice(None))`. Two devices may hold the same block.
    Returns `x` with a NamedSharding that gives every device its block.

    把 x 按图上的样子摆放到 mesh 上。

    x：f32[rows, columns]，在一个设备上。
    mesh：有 "x" 和 "y" 两个轴。
    picture：一个字典，为每个设备写明它持有 x 的哪一块，行和列各用一个 slice 表示，例如
    `(slice(0, 2), slice(None))`。两个设备可以持有同一块。
    返回用 NamedSharding 摆放好的 x，每个设备持有的块都与图上一致。
    """
    # TODO: find the PartitionSpec; there are not many to choose from.
    # TODO：找出那个 PartitionSpec，可选的并不多。
    raise NotImplementedError


def bytes_per_device(
    shape: tuple[int, ...], dtype: str, mesh: Mesh, spec: P
) -> int:
    """Compute how many bytes of an array each device of `mesh` holds.

    shape: the global shape; every sharded dimension divides evenly. The array
    may be far too large to create.
    dtype: a name such as "float32" or "bfloat16".
    mesh: a mesh that has the axes named in `spec`, and perhaps others.
    spec: a PartitionSpec.
    Returns the number of bytes on one device, an int (it is the same on all
    devices).

    数组按分区方式 spec 摆放，求 mesh 的每个设备要存放多少字节。

    shape：整个数组的形状，按 spec 来切，每一维一定能整除。数组可能非常大，不要
    真的把它创建出来。
    dtype："float32"、"bfloat16" 这样的名字。
    mesh：有 spec 里写到的所有轴，可能还有别的轴。
    spec：一个 PartitionSpec。
    返回一个设备上的字节数（int，各设备相同）。
    """
    # TODO: multiply the size of one shard by the bytes of one element.
    # TODO：一个分片的形状，乘以一个元素的大小。
    raise NotImplementedError


def pad_and_slice(x: jax.Array, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    """Pad rows to shard them evenly over a mesh; recover the original rows.

    x: f32[n, columns] with any n ≥ 1, on one device.
    mesh: a mesh with one axis, "x".
    Returns (padded, back).
    padded: f32[m, columns], where m is the smallest multiple of the mesh's size
    that is ≥ n. The new rows are zero and come last. The rows are sharded over
    "x".
    back: f32[n, columns], the first n rows of `padded`, one copy on every
    device.

    行数不能被设备数整除时，先填充再分片，然后取回原来的行。

    x：f32[n, columns]，n 是任意正整数，在一个设备上。
    mesh：只有一个轴 "x"。
    返回 (padded, back)。
    padded：f32[m, columns]，m 是设备数的倍数中不小于 n 的最小值；新增的行全是
    零，放在末尾；各行沿 "x" 分片。
    back：f32[n, columns]，也就是 padded 的前 n 行，每个设备上各有一份。
    """
    # TODO: pad, spread, and take the real rows back.
    # TODO：先填充，再分片，最后取回原来的行。
    raise NotImplementedError


def read_layout(x: jax.Array, index: tuple[int, ...]) -> list[int]:
    """List the devices that hold the element `x[index]`.

    x: an array with any sharding and any number of dimensions, on any devices
    in any order.
    index: one non-negative integer for each dimension.
    Returns the ids of all devices that hold this element, in ascending order.

    求元素 x[index] 存放在哪些设备上。

    x：维数、分片方式、所在的设备和设备的顺序都不限。
    index：对每一维给出一个非负整数。
    返回持有这个元素的所有设备的 id，从小到大排列。
    """
    # TODO: look at the shards, not at the spec.
    # TODO：查看各个分片，不要只看 spec。
    raise NotImplementedError
