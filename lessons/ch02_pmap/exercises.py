"""The exercises of ch02_pmap.

Work on your copy, answers/ch02_pmap.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch02_pmap.py 里作答，本文件保持原样。
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)


def parallel_predict(
    predict: Callable, params: dict, batch: jax.Array, num_devices: int
) -> jax.Array:
    """Run `predict` on several devices at once, each with its own sequences.

    predict: predict(params, inputs) maps n sequences f32[steps, n, features] to
    f32[steps, n, outputs]. The sequences do not depend on one another, but each
    step of a sequence depends on the steps before it.
    params: a dict of arrays; every device needs all of them.
    batch: f32[steps, N, features], N sequences with time as dimension 0, on one
    device. N is a multiple of `num_devices`.
    num_devices: the number of devices to use.
    Returns f32[num_devices, steps, N / num_devices, outputs]: device i holds
    the predictions for the i-th slice of consecutive sequences, and no others.

    让 predict 同时在 num_devices 个设备上运行，每个设备处理属于自己的那些序列。

    predict：predict(params, inputs) 由 n 条序列 f32[steps, n, features] 算出
    f32[steps, n, outputs]。序列之间互不影响，但同一条序列的每一步都取决于前面各步。
    params：由数组组成的字典，每个设备都需要完整的一份。
    batch：f32[steps, N, features]，共 N 条序列，第 0 维是时间，整个数组在一个
    设备上；N 是 num_devices 的倍数。
    num_devices：参与计算的设备数。
    返回 f32[num_devices, steps, N / num_devices, outputs]。N 条序列按顺序平分
    成 num_devices 组，设备 i 持有下标为 i 的那一组的预测结果，而且只持有这一组。
    """
    # TODO: split the sequences, not the steps; pmap over which dimension?
    # TODO：要切开的是序列，不是时间步；pmap 应该沿哪一维映射？
    raise NotImplementedError


def train_step(
    loss: Callable,
    params: dict,
    inputs: jax.Array,
    targets: jax.Array,
    rate: float,
    limit: float,
) -> dict:
    """Take one training step with a clipped gradient on several devices.

    loss: loss(params, inputs, targets) returns the mean over the rows in its
    arguments.
    params: the parameters, a dict of arrays.
    inputs: f32[devices, rows, features].
    targets: f32[devices, rows, outputs].
    rate: the learning rate.
    limit: the largest norm that the gradient may have. The norm is the square
    root of the sum of the squares of all elements of all arrays together.
    Returns params - rate * g, as one device would compute it, where g is the
    gradient of the loss over all rows of all devices. If the norm of g is
    larger than `limit`, all of g is scaled down until its norm is `limit`. The
    result has the same shapes as `params`, with one copy on every device.

    在多个设备上做一步带梯度裁剪（gradient clipping）的梯度下降，结果要与单个设备处理整个
    批次时相同。

    loss：loss(params, inputs, targets) 返回它拿到的各行的平均损失。
    params：由数组组成的字典，也就是模型参数。
    inputs：f32[devices, rows, features]。
    targets：f32[devices, rows, outputs]。
    rate：学习率。
    limit：梯度范数的上限。求范数时，把各个数组的全部元素分别平方，全部加起来，
    再开平方。
    返回 params - rate * g，其中 g 是全部设备上所有行的平均损失的梯度；如果 g
    的范数大于 limit，就把 g 整个按比例缩小到范数等于 limit。结果的形状与
    params 相同，每个设备上各有一个副本。
    """
    # TODO: write one step and apply pmap; what comes first, the average or the
    # norm?
    # TODO：写出一步，再做 pmap；先求平均，还是先算范数？
    raise NotImplementedError


def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    """Compute the mean of the real elements of `x` over all devices.

    x: f32[devices, rows], on one device. Your function splits `x` and `mask`
    along dimension 0, whose size is the number of devices to use.
    mask: f32[devices, rows], also on one device; 1 for a real element, 0 for
    padding. A device may get any number of real elements, even none, but
    together the devices have at least one.
    Returns f32[], one copy on every device. The function is compiled with
    `jit`.
    Budget: all-reduces only. On n devices, each device sends at most 16 (n-1)/n
    bytes, the cost of one all-reduce of 8 bytes.

    求 x 中有效元素在所有设备上的平均值，每个设备都要拿到结果。

    x：f32[devices, rows]，在一个设备上；由你的函数沿第 0 维把 x 和 mask 切开，分给 devices
    个设备。
    mask：f32[devices, rows]，也在一个设备上；1 表示有效，0 表示填充。各设备分到的有效元素
    个数可以不同，甚至可以是零，但合起来至少有一个。
    返回 f32[]，每个设备上各有一个副本。函数会用 `jit` 编译。
    预算：只用 all-reduce，共 n 个设备时，每个设备最多发送 16 (n-1)/n 字节，正好够对 8
    字节的数据做一次 all-reduce。
    """
    # TODO: what must be added up over the devices before you may divide?
    # TODO：做除法之前，先要在设备之间把什么加起来？
    raise NotImplementedError


def mixed_predict(
    predict: Callable, params: dict, inputs: jax.Array
) -> jax.Array:
    """Apply pmap to `predict` when the devices share only some parameters.

    predict: predict(params, inputs) maps inputs f32[n, features] to f32[n,
    outputs].
    params: a dict of dicts. An array whose name begins with "own_" has one
    slice per device along dimension 0. All devices share every other array,
    whatever its shape.
    inputs: f32[devices, rows, features].
    Returns f32[devices, rows, outputs], stacked over the devices.

    有些参数由所有设备共享，有些参数则是每个设备各有一段，请在这种情况下用
    `pmap` 运行 predict。

    predict：predict(params, inputs) 由 f32[n, features] 的输入算出 f32[n, outputs]
    的输出。
    params：字典的字典。名字以 "own_" 开头的数组沿第 0 维为每个设备各存一段，其余数组不论形
    状如何，都由所有设备共享。
    inputs：f32[devices, rows, features]。
    返回 f32[devices, rows, outputs]，由各设备的结果沿第 0 维堆叠而成。
    """
    # TODO: build a tree for in_axes from the names, not from the shapes.
    # TODO：根据名字而不是形状，建一棵 in_axes 的树。
    raise NotImplementedError
