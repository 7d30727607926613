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

    loss: loss(params, x, y, key) is the mean over the rows that it is given; key
    decides what its dropout drops.
    params: f32 arrays, a copy on every device.
    x: f32[rows, features], rows cut over "data".
    y: f32[rows, outputs], rows cut over "data".
    seed: device i along "data" uses the key
    `jax.random.fold_in(jax.random.key(seed), i)` for the rows that it holds.
    rate: the learning rate.
    mesh: with one Explicit axis, "data".
    Returns (params - rate * gradient, value). value is the mean of the devices'
    losses, f32[], and gradient is its gradient; both lie on every device. The
    function is compiled with `jit`.
    Budget: all-reduces only, of 4 bytes for each parameter and of 16 more: each
    device sends at most 2 (n-1)/n of these bytes on n devices.

    为带 dropout 的模型做一步数据并行的梯度下降。

    loss：loss(params, x, y, key) 对它拿到的各行求平均，key 决定 dropout 丢掉哪些。
    params：由 f32 数组组成，每个设备上各有一份。
    x：f32[rows, features]，各行沿 "data" 切开。
    y：f32[rows, outputs]，各行沿 "data" 切开。
    seed：在 "data" 轴上坐标为 i 的设备，处理自己那几行时使用密钥
    `jax.random.fold_in(jax.random.key(seed), i)`。
    rate：学习率。
    mesh：只有一个 Explicit 轴 "data"。
    返回 (params - rate * gradient, value)。value 是 f32[]，即各设备损失的平均值，gradient
    是它的梯度；两者在每个设备上都有一份。函数会用 `jit` 编译。
    预算：只用 all-reduce，每个参数 4 字节，另加 16 字节；共 n 个设备时，每个设备最多发送这
    些字节的 2 (n-1)/n。
    """
    # TODO: differentiate the mean over the devices, not a device's own loss.
    # TODO：对各设备损失的平均值求导，不要对单个设备自己的损失求导。
    raise NotImplementedError


def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    """Cut a model's arrays, the largest first, until its parameters fit on each
    device.

    params: a dict of arrays of any dtypes, on one device.
    mesh: with one Explicit axis, "data".
    limit: the most bytes of parameters that one device may hold. It can be met.

    Go through the arrays from the largest to the smallest, by bytes (no two arrays
    have equally many bytes), and stop as soon as what a device holds is at most
    limit, perhaps before the first. Cut an array over "data" along its first
    dimension that the mesh's size divides; an array that has no such dimension
    stays whole. What is not cut has a copy everywhere.
    Returns the dict, its arrays placed on mesh.

    从最大的数组开始切，直到每个设备都放得下模型的参数。

    params：由数组组成的字典，dtype 各不相同，都在一个设备上。
    mesh：只有一个 Explicit 轴 "data"。
    limit：一个设备最多能存放的参数字节数，一定能够满足。

    按字节数从大到小依次处理各个数组（没有两个数组的字节数相同），一旦每个设备存放的字节数
    不超过 limit 就停下，也可能一个都不用切。切一个数组时，沿 "data" 切它的第一个能被设备数
    整除的维；没有这样的维，就保持完整。没有切开的数组，每个设备上各有一份。
    返回同样的字典，数组都已摆放到 mesh 上。
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

    It computes `x + (silu(x @ gate) * (x @ up)) @ down + bias`.
    x: f32[rows, d], rows cut over "data".
    gate and up: f32[d, h], columns cut over "model".
    down: f32[h, d], rows cut over "model".
    bias: f32[d], a copy on every device. (Column parallel, then row parallel, as in
    Megatron.)
    mesh: with the Explicit axes "data" and "model".
    Returns f32[rows, d], laid out as x is. The function is compiled with `jit`.
    Budget: all-reduces only, of the rows that a device holds: each device sends at
    most 2 (m-1)/m of 4 * d bytes for each of them, m being the size of "model".

    一个带门控的 MLP，隐藏单元分给各设备，只用一次 all-reduce。

    它计算 `x + (silu(x @ gate) * (x @ up)) @ down + bias`。
    x：f32[rows, d]，各行沿 "data" 切开。
    gate、up：f32[d, h]，各列沿 "model" 切开。
    down：f32[h, d]，各行沿 "model" 切开。
    bias：f32[d]，每个设备上各有一份。（这就是 Megatron 的列切加行切。）
    mesh：有 "data" 和 "model" 两个 Explicit 轴。
    返回 f32[rows, d]，布局与 x 相同。函数会用 `jit` 编译。
    预算：只用 all-reduce，每个设备持有的每一行算 4 * d 字节；"model" 的大小为 m 时，每个设
    备最多发送这些字节的 2 (m-1)/m。
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

    losses: losses(params, x, y) gives one loss for each row, f32[rows]. It accepts
    no more rows than one microbatch has.
    params: f32 arrays, a copy on every device.
    x: f32[micro, rows, features], rows cut over "data".
    y: f32[micro, rows, outputs], rows cut over "data".
    real: f32[micro, rows], rows cut over "data"; 1 for a real row, 0 for padding,
    which holds ordinary numbers, no NaN. A microbatch, or a device, may hold only
    padding.
    mesh: with one Explicit axis, "data".
    Returns the gradient, with respect to params, of the mean loss over all real
    rows of all microbatches, on every device. The function is compiled with `jit`.
    Budget: all-reduces only, of 4 bytes for each parameter and of 16 more: each
    device sends at most 2 (n-1)/n of these bytes on n devices. The gradients are
    summed over the devices once, not once in every microbatch.

    在多个设备上，分成若干微批次求一个大批次的梯度。

    losses：losses(params, x, y) 对每一行给出一个损失，即 f32[rows]，一次最多接受一个微批次
    的行数。
    params：由 f32 数组组成，每个设备上各有一份。
    x：f32[micro, rows, features]，rows 这一维沿 "data" 切开。
    y：f32[micro, rows, outputs]，rows 这一维沿 "data" 切开。
    real：f32[micro, rows]，rows 这一维沿 "data" 切开；1 表示有效行，0 表示填充，填充行里是
    普通的数，没有 NaN。某个微批次或某个设备上可能全是填充。
    mesh：只有一个 Explicit 轴 "data"。
    返回全部微批次的全部有效行的平均损失对 params 的梯度，每个设备上各有一份。函数会用
    `jit` 编译。
    预算：只用 all-reduce，每个参数 4 字节，另加 16 字节；共 n 个设备时，每个设备最多发送这
    些字节的 2 (n-1)/n。也就是说，梯度只在设备之间求和一次，而不是每个微批次一次。
    """
    # TODO: add up gradients of sums, on each device by itself; divide at the end.
    # TODO：各设备先各自累加“损失之和”的梯度，最后再除。
    raise NotImplementedError
