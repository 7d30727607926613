"""The exercises of ch09_training.

Work on your copy, answers/ch09_training.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch09_training.py 里作答，本文件保持原样。
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


def dropout_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    seed: int,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    """One data-parallel step of gradient descent for a model with dropout.

    loss(params, x, y, key) is the mean over the rows that it is given; key decides
    what its dropout drops.
    params: f32 arrays, a copy on every device. x: f32[rows, features] and
    y: f32[rows, outputs], rows cut over the mesh's only axis, "data".
    Device i along "data" uses the key `jax.random.fold_in(jax.random.key(seed), i)`
    for the rows that it holds.
    Returns (params - rate * gradient, value). value is the mean of the devices'
    losses, f32[], and gradient is its gradient; both lie on every device.
    The function is compiled with `jit`.
    Budget: all-reduces only, of 4 bytes for each parameter and of 16 more: each device
    sends 2 (n-1)/n of these bytes on n devices.

    为带 dropout 的模型做一步数据并行的梯度下降。loss(params, x, y, key) 对它拿到的各行
    求平均，key 决定 dropout 丢掉哪些。params 是 f32 数组，每个设备上各有一份；x 和 y
    按行切开，沿 mesh 唯一的轴 "data" 分给各设备。在 "data" 轴上坐标为 i 的设备处理自己那几行时，
    使用密钥 `jax.random.fold_in(jax.random.key(seed), i)`。
    返回 (params - rate * gradient, value)：value 是各设备损失的平均值，形状为 f32[]，
    gradient 是它的梯度；两者在每个设备上都有一份。
    函数会用 `jit` 编译。
    预算：只用 all-reduce，每个参数 4 字节，另加 16 字节；共 n 个设备时，每个设备发送的是
    这些字节的 2 (n-1)/n。
    """
    # TODO: differentiate the mean over the devices, not a device's own loss.
    # TODO：对各设备损失的平均值求导，不要对单个设备自己的损失求导。
    raise NotImplementedError


def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    """Cut as few arrays as are needed for the parameters to fit on each device.

    params: a dict of arrays of any dtypes, on one device. mesh has one axis, "data".
    limit: the most bytes of parameters that one device may hold.
    Go through the arrays from the largest to the smallest, by bytes (no two
    arrays have equally many bytes), and stop as soon as what a device holds is at
    most limit. Cut an array over "data" along its first dimension that the mesh's
    size divides; an array that has no such dimension stays whole. What is not cut
    has a copy everywhere.
    Returns the dict, its arrays placed on mesh. The limit can be met.

    只切必须切的数组，让每个设备都放得下自己要存的参数。params 是由数组组成的字典，dtype
    各不相同，现在都在一个设备上；mesh 只有一个轴 "data"；limit 是一个设备最多能存放的
    参数字节数。按字节数从大到小依次处理（没有两个数组的字节数相同），一旦每个设备存放的字节数
    不超过 limit 就停下。切一个数组时，沿 "data" 切它的第一个能被设备数整除的维；没有这样的
    维，就保持完整。没有切开的数组，每个设备上各有一份。
    返回同样的字典，数组都已摆放到 mesh 上。limit 一定能够满足。
    """
    # TODO: largest first; count what one device holds.
    # TODO：从最大的数组开始；算清一个设备存放了多少字节。
    raise NotImplementedError


def gated_mlp(
    x: jax.Array,
    gate: jax.Array,
    up: jax.Array,
    down: jax.Array,
    bias: jax.Array,
    mesh: Mesh,
) -> jax.Array:
    """A gated MLP with its hidden units cut over the devices: one all-reduce.

    Computes `x + (silu(x @ gate) * (x @ up)) @ down + bias`.
    x: f32[rows, d], rows cut over the mesh's axis "data". gate and up: f32[d, h],
    columns cut over "model". down: f32[h, d], rows cut over "model".
    bias: f32[d], a copy on every device. (Column parallel, then row parallel, as in Megatron.)
    Returns f32[rows, d], laid out as x is.
    The function is compiled with `jit`.
    Budget: all-reduces only, of the rows that a device holds: each device sends
    2 (m-1)/m of 4 * d bytes for each of them, m being the size of "model".

    一个带门控的 MLP，隐藏单元分给各设备，只用一次 all-reduce。
    计算 `x + (silu(x @ gate) * (x @ up)) @ down + bias`。x 的形状是 [rows, d]，按行沿
    mesh 的 "data" 轴切开；gate 和 up 的形状是 [d, h]，按列沿 "model" 轴切开；down 的
    形状是 [h, d]，按行沿 "model" 轴切开；bias 在每个设备上各有一份。
    （这就是 Megatron 的列切加行切。）返回 f32[rows, d]，布局与 x 相同。
    函数会用 `jit` 编译。
    预算：只用 all-reduce，每个设备持有的每一行算 4 * d 字节；"model" 的大小为 m 时，
    每个设备发送的是这些字节的 2 (m-1)/m。
    """
    # TODO: what is a part of a sum, and what is already whole?
    # TODO：哪些只是总和的一部分，哪些已经完整？
    raise NotImplementedError


def accumulated_gradient(
    losses: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    real: jax.Array,
    mesh: Mesh,
) -> dict:
    """The gradient of one big batch, taken in microbatches, over several devices.

    losses(params, x, y) gives one loss for each row, f32[rows]. It accepts no more
    rows than one microbatch has.
    x: f32[micro, rows, features], y: f32[micro, rows, outputs], and
    real: f32[micro, rows], 1 for a real row, 0 for padding; rows is cut over the
    mesh's only axis, "data". A microbatch, or a device, may hold only padding.
    Returns the gradient, with respect to params, of the mean loss over all real
    rows of all microbatches, on every device.
    The function is compiled with `jit`.
    Budget: all-reduces only, of 4 bytes for each parameter and of 16 more: each device
    sends 2 (n-1)/n of these bytes on n devices. The gradients are summed over
    the devices once, not once in every microbatch.

    在多个设备上，分成若干微批次求一个大批次的梯度。losses(params, x, y) 对每一行给出一个
    损失，形状为 f32[rows]，一次最多接受一个微批次的行数。x 的形状是
    [micro, rows, features]，y 的形状是 [micro, rows, outputs]，real 的形状是
    [micro, rows]，1 表示有效行，0 表示填充；rows 这一维沿 mesh 唯一的轴 "data" 切开。
    某个微批次或某个设备上可能全是填充。
    返回全部微批次的全部有效行的平均损失对 params 的梯度，每个设备上各有一份。
    函数会用 `jit` 编译。
    预算：只用 all-reduce，每个参数 4 字节，另加 16 字节；共 n 个设备时，每个设备发送的是
    这些字节的 2 (n-1)/n。也就是说，梯度只在设备之间求和一次，而不是每个微批次一次。
    """
    # TODO: add up gradients of sums, on each device by itself; divide at the end.
    # TODO：各设备先各自累加“损失之和”的梯度，最后再除。
    raise NotImplementedError
