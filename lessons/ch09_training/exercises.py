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
    """Take one data-parallel step of gradient descent for a model with dropout.

    loss: loss(params, x, y, key) returns the mean loss over the rows of `x` and
    `y`; `key` decides which elements dropout drops.
    params: a dict of f32 arrays, a copy on every device.
    x: f32[rows, features], rows sharded over "data".
    y: f32[rows, outputs], rows sharded over "data".
    seed: the seed for dropout. Device i along "data" uses the key
    `jax.random.fold_in(jax.random.key(seed), i)` for its own rows.
    rate: the learning rate.
    mesh: a mesh with one Explicit axis, "data".
    Returns (params - rate * gradient, value), where `value` is the mean of the
    devices' losses, f32[], and `gradient` is the gradient of `value`. Both
    results are on every device. The function is compiled with `jit`.
    Budget: all-reduces only, of at most B bytes in all, where B is 16 plus 4
    for each number in `params`. On n devices, each device sends at most
    2 (n-1)/n · B bytes.

    为带 dropout 的模型做一步数据并行的梯度下降。

    loss：loss(params, x, y, key) 返回传入的各行的平均损失，key 决定 dropout 丢
    掉哪些元素。
    params：由 f32 数组组成，每个设备上各有一份。
    x：f32[rows, features]，各行沿 "data" 切开。
    y：f32[rows, outputs]，各行沿 "data" 切开。
    seed：在 "data" 轴上坐标为 i 的设备，处理自己那几行时使用密钥
    `jax.random.fold_in(jax.random.key(seed), i)`。
    rate：学习率。
    mesh：只有一个 Explicit 轴 "data"。
    返回 (params - rate * gradient, value)。value 是 f32[]，即各设备损失的平均值，gradient
    是 value 的梯度；返回的两项在每个设备上都有一份。函数会用 `jit` 编译。
    预算：只用 all-reduce，params 里每个数算 4 字节，另加 16 字节；共 n 个设备时，每个
    设备发送的字节数，最多是这些字节的 2 (n-1)/n 倍。
    """
    # TODO: differentiate the mean over the devices, not a device's own loss.
    # TODO：对各设备损失的平均值求导，不要对单个设备自己的损失求导。
    raise NotImplementedError


def shard_to_fit(params: dict, mesh: Mesh, limit: int) -> dict:
    """Shard a model's arrays, the largest first, until its parameters fit.

    params: a dict of arrays of any dtypes, on one device.
    mesh: a mesh with one Explicit axis, "data".
    limit: the largest number of bytes of parameters that one device may hold.
    This limit can always be met.

    Go through the arrays from the largest to the smallest, by bytes (no two
    arrays have the same number of bytes). Stop as soon as each device holds at
    most `limit` bytes, perhaps before the first array. Shard an array over
    "data" along the first of its dimensions whose size is a multiple of the
    mesh's size; an array without such a dimension stays whole. Every array that
    is not sharded has a copy on every device.
    Returns the dict with its arrays placed on `mesh`.

    从最大的数组开始切，直到每个设备都放得下模型的参数。

    params：由数组组成的字典，dtype 任意，数组都在一个设备上。
    mesh：只有一个 Explicit 轴 "data"。
    limit：一个设备最多能存放的参数字节数，这个上限一定能够满足。

    按字节数从大到小依次处理各个数组（没有两个数组的字节数相同），一旦每个设备存放的字节数
    不超过 limit 就停下，也可能一个都不用切。切一个数组时，从前往后找到第一个大
    小能被设备数整除的维，沿 "data" 切开这一维；如果没有这样的维，这个数组就保
    持完整。没有切开的数组，每个设备上各有一份。
    返回同样的字典，数组都已摆放到 mesh 上。
    """
    # TODO: start with the largest; count the bytes that one device holds.
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
    """Compute a gated MLP with sharded hidden units and one all-reduce.

    Return `x + (silu(x @ gate) * (x @ up)) @ down + bias`. As in Megatron, the
    first two products are column parallel, and the last is row parallel.

    x: f32[rows, d], rows sharded over "data".
    gate and up: f32[d, h], columns sharded over "model".
    down: f32[h, d], rows sharded over "model".
    bias: f32[d], a copy on every device.
    mesh: a mesh with the Explicit axes "data" and "model".
    Returns f32[rows, d], sharded the same way as `x`. The function is compiled
    with `jit`.
    Budget: all-reduces only. For each row that it holds, a device sends at most
    2 (m-1)/m times 4 * d bytes, where m is the size of "model".

    实现一个带门控的 MLP，隐藏单元分给各设备，只用一次 all-reduce。

    计算 `x + (silu(x @ gate) * (x @ up)) @ down + bias`。gate 和 up 按列切，down 按行切，
    这就是 Megatron 的列切加行切。

    x：f32[rows, d]，各行沿 "data" 切开。
    gate、up：f32[d, h]，各列沿 "model" 切开。
    down：f32[h, d]，各行沿 "model" 切开。
    bias：f32[d]，每个设备上各有一份。
    mesh：有 "data" 和 "model" 两个 Explicit 轴。
    返回 f32[rows, d]，布局与 x 相同。函数会用 `jit` 编译。
    预算：只用 all-reduce，每个设备持有的每一行算 4 * d 字节；"model" 的大小为
    m 时，每个设备发送的字节数，最多是这些字节的 2 (m-1)/m 倍。
    """
    # TODO: which values are parts of a sum, and which are already whole?
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
    """Compute the gradient of one large batch, microbatch by microbatch.

    losses: losses(params, x, y) returns one loss for each row, f32[rows]. It
    accepts at most as many rows as one microbatch has.
    params: a dict of f32 arrays, a copy on every device.
    x: f32[micro, rows, features], rows sharded over "data".
    y: f32[micro, rows, outputs], rows sharded over "data".
    real: f32[micro, rows], rows sharded over "data"; 1 for a real row, 0 for
    padding. Padding holds ordinary numbers, not NaN. A microbatch, or a device,
    may hold only padding.
    mesh: a mesh with one Explicit axis, "data".
    Returns the gradient, with respect to `params`, of the mean loss over all
    real rows of all microbatches, on every device. The function is compiled
    with `jit`.
    Budget: all-reduces only, of 4 bytes for each number in `params` plus 16
    bytes. On n devices, each device sends at most 2 (n-1)/n times these bytes.
    Sum the gradients over the devices once, not once in every microbatch.

    在多个设备上，把一个大批次分成若干微批次，求出整个批次的梯度。

    losses：losses(params, x, y) 对每一行给出一个损失，即 f32[rows]，一次接受的
    行数不能超过一个微批次的行数。
    params：由 f32 数组组成，每个设备上各有一份。
    x：f32[micro, rows, features]，rows 这一维沿 "data" 切开。
    y：f32[micro, rows, outputs]，rows 这一维沿 "data" 切开。
    real：f32[micro, rows]，rows 这一维沿 "data" 切开；1 表示有效行，0 表示填充，填充行里是
    普通的数，没有 NaN。某个微批次里的行，或者某个设备上的行，可能全是填充。
    mesh：只有一个 Explicit 轴 "data"。
    返回平均损失对 params 的梯度，每个设备上各有一份；平均损失要按全部微批次里
    的全部有效行来算。函数会用 `jit` 编译。
    预算：只用 all-reduce，params 里每个数算 4 字节，另加 16 字节；共 n 个设备时，每个
    设备发送的字节数，最多是这些字节的 2 (n-1)/n 倍。也就是说，梯度只在设备之间
    求和一次，而不是每个微批次一次。
    """
    # TODO: on each device, add up gradients of sums; divide at the end.
    # TODO：各设备先各自累加“损失之和”的梯度，最后再除。
    raise NotImplementedError


def two_steps_in_one_memory(
    update: Callable, state: dict[str, jax.Array], batch: jax.Array
) -> tuple[dict[str, jax.Array], int]:
    """Take two training steps in the memory of one state by donating it.

    update: update(state, batch) returns the new state, a dict with the same
    names, shapes and dtypes. It is not yet compiled.
    state: a dict of arrays on a mesh with one Auto axis, "x", each with its own
    layout.
    batch: an array on the same mesh, not donated.

    Compile `update` so that each array of the new state has the layout of the
    corresponding array of the old state and takes over its memory. Then take
    two steps with the same batch.
    Returns (state, bytes).
    state: the state after two steps, in its original layout.
    bytes: the number of bytes that input and output share on one device,
    according to the compiled program's `memory_analysis()`.

    用一份状态的内存做两步训练。

    update：update(state, batch) 返回新的状态，即一个名字、形状、dtype 都不变的
    字典。update 还没有编译。
    state：由数组组成的字典，各个数组都在同一个网格上，网格只有一个 Auto 轴 "x"，
    各个数组的布局不一定相同。
    batch：同一个网格上的数组，不捐赠。

    编译 update，让新状态的每个数组保持原来的布局，并接管旧数组的内存。然后用同一个 batch
    做两步。
    返回 (state, bytes)。
    state：做完两步之后的状态，布局与传入时相同。
    bytes：一个设备上输入与输出共用的内存的字节数，由编译好的程序的
    `memory_analysis()` 给出。
    """
    # TODO: donate the state, and say how the new one is sharded.
    # TODO：捐赠旧的状态，并说明新的状态放在哪里。
    raise NotImplementedError


def fsdp_step(
    loss: Callable,
    params: dict,
    x: jax.Array,
    y: jax.Array,
    rate: float,
    mesh: Mesh,
) -> tuple[dict, jax.Array]:
    """Take one step of gradient descent, fully sharded (FSDP).

    loss: loss(params, x, y) returns the mean loss over the rows in its
    arguments. It needs every array of `params` whole.
    params: a dict of f32 arrays. If the mesh's size divides the size of
    dimension 0 of an array, this dimension is sharded over "data"; each device
    has a copy of every other array.
    x: f32[rows, features], rows sharded over "data".
    y: f32[rows, outputs], rows sharded over "data".
    rate: the learning rate.
    mesh: a mesh with one Explicit axis, "data".
    Returns (params - rate * gradient, value). The new `params` are sharded the
    same way as the old ones; `value` is the mean loss over all rows, f32[], on
    every device. The function is compiled with `jit`.
    Budget: on n devices, each device sends at most (n-1)/n of the bytes of the
    sharded arrays by all-gather and the same number again by reduce-scatter. By
    all-reduce, it sends at most 2 (n-1)/n · B bytes, where B is 16 plus the
    bytes of the other arrays.

    做一步完全分片（FSDP）的梯度下降。

    loss：loss(params, x, y) 返回传入的各行的平均损失，需要完整的 params。
    params：由 f32 数组组成。如果网格大小能整除数组第 0 维的大小，就沿 "data"
    切开这一维；其余的数组，每个设备上各有一份。
    x：f32[rows, features]，各行沿 "data" 切开。
    y：f32[rows, outputs]，各行沿 "data" 切开。
    rate：学习率。
    mesh：只有一个 Explicit 轴 "data"。
    返回 (params - rate * gradient, value)。新的 params 布局与原来相同。value 是所有行的平
    均损失，即 f32[]，每个设备上都有一份。函数会用 `jit` 编译。
    预算：共 n 个设备时，每个设备用 all-gather 最多发送切开的数组字节数的
    (n-1)/n，用 reduce-scatter 最多再发送同样多的字节，用 all-reduce 最多发送的
    字节数，是其余数组的字节数加 16，再乘以 2 (n-1)/n。
    """
    # TODO: gather the sharded arrays inside the function that you
    # differentiate.
    # TODO：在求导的函数里面，把切开的数组收集完整。
    raise NotImplementedError


def through_stages(
    layer: Callable, weights: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    """Send a batch through a pipeline and give the results to every device.

    layer: layer(w, h) takes f32[d, d] and f32[rows, d] and returns f32[rows,
    d]. For rows of zeros, it may return NaN.
    weights: f32[n, d, d], sharded with P("stage"), so each of the n devices has
    the weights of one layer.
    x: f32[parts, rows, d], the microbatches, a copy on every device.
    mesh: a mesh with one Explicit axis, "stage", of size n ≥ 2.
    Returns f32[parts, rows, d] on every device: each microbatch after all
    layers, starting with the first device's layer. The function is compiled
    with `jit`.
    Budget: at most `parts` + n - 1 turns, then one all-reduce of the results.
    In a turn, each device computes one layer of one microbatch and passes on
    one microbatch by a collective-permute.

    让一个批次走完流水线，再把结果送到每个设备。

    layer：layer(w, h) 接受 f32[d, d] 和 f32[rows, d]，给出 f32[rows, d]。如果
    输入的某一行全是零，结果里的这一行可能是 NaN。
    weights：f32[n, d, d]，按 P("stage") 分片：n 个设备各有一层的权重。
    x：f32[parts, rows, d]，即各个微批次，每个设备上各有一份。
    mesh：只有一个 Explicit 轴 "stage"，大小 n ≥ 2。
    返回 f32[parts, rows, d]，每个设备上各有一份，内容是每个微批次依次经过所有
    的层得到的结果，从第一个设备的层开始。函数会用 `jit` 编译。
    预算：最多 parts + n - 1 拍；每一拍里，每个设备只计算一个微批次的一层，并用
    collective-permute 传递一个微批次。最后对结果做一次 all-reduce。
    """
    # TODO: which microbatch reaches which stage in which turn, and which device
    # has the results?
    # TODO：哪一拍，哪个微批次到达哪个设备？结果在哪个设备上？
    raise NotImplementedError
