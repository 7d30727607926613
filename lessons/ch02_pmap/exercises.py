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
    """Run predict on num_devices devices at once, each on its own slice of the batch.

    predict: predict(params, inputs) maps inputs f32[n, features] to
    f32[n, outputs].
    params: a dict of arrays; every device needs all of them.
    batch: f32[N, features], on one device; N is a multiple of num_devices.
    num_devices: how many devices are to take part.
    Returns f32[num_devices, N / num_devices, outputs]: device i holds the
    predictions for the i-th slice of consecutive rows, and these alone.

    让 predict 同时在 num_devices 个设备上运行，每个设备处理批次中自己的那一段。

    predict：predict(params, inputs) 由 f32[n, features] 的输入算出 f32[n, outputs]
    的输出。
    params：由数组组成的字典，每个设备都需要完整的一份。
    batch：f32[N, features]，在一个设备上；N 是 num_devices 的倍数。
    num_devices：参与计算的设备数。
    返回 f32[num_devices, N / num_devices, outputs]。设备 i 持有下标为 i 的那一段连续行的预
    测结果，而且只持有这一段。
    """
    # TODO: cut the batch, then pmap predict with the right in_axes.
    # TODO：先切开批次，再用合适的 in_axes 对 predict 做 pmap。
    raise NotImplementedError


def train_step(
    loss: Callable,
    params: dict,
    inputs: jax.Array,
    targets: jax.Array,
    rate: float,
) -> dict:
    """One step of gradient descent over several devices, equal to one device's step.

    loss: loss(params, inputs, targets) is a mean over the rows that it is given.
    params: a dict of arrays, the parameters.
    inputs: f32[devices, rows, features].
    targets: f32[devices, rows, outputs].
    rate: the learning rate.
    Returns params - rate * gradient, where the gradient is that of the loss over
    all rows of all devices. Same shapes as params, one copy on every device.

    在多个设备上做一步梯度下降，结果要与单个设备处理整个批次时相同。

    loss：loss(params, inputs, targets) 对它拿到的各行求平均。
    params：由数组组成的字典，也就是模型参数。
    inputs：f32[devices, rows, features]。
    targets：f32[devices, rows, outputs]。
    rate：学习率。
    返回 params - rate * 梯度，其中的梯度是损失对全部设备、全部行求得的。形状与 params 相
    同，每个设备上各有一个副本。
    """
    # TODO: pmap a step that averages the gradients; look at out_axes.
    # TODO：写出对梯度求平均的一步，再做 pmap；留意 out_axes。
    raise NotImplementedError


def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    """Mean of the real entries of x over all devices, known to every device.

    x: f32[devices, rows], on one device: your function spreads the rows of x and
    mask over so many devices.
    mask: f32[devices, rows], on one device, too; 1 for real and 0 for padding. A
    device may get any number of real entries, even none; together they have at
    least one.
    Returns f32[], one copy on every device. The function is compiled with `jit`.
    Budget: each device sends at most 16 (n-1)/n bytes on n devices, by all-reduce:
    as much as it takes to add up 8 bytes.

    求 x 中有效元素在所有设备上的平均值，每个设备都要拿到结果。

    x：f32[devices, rows]，在一个设备上；由你的函数把 x 和 mask 的各行分给这么多个设备。
    mask：f32[devices, rows]，也在一个设备上；1 表示有效，0 表示填充。各设备分到的有效元素
    个数可以不同，甚至可以是零，但合起来至少有一个。
    返回 f32[]，每个设备上各有一个副本。函数会用 `jit` 编译。
    预算：只用 all-reduce，共 n 个设备时，每个设备最多发送 16 (n-1)/n 字节，正好够把 8 字节
    的数加起来。
    """
    # TODO: what must be added up over the devices before you may divide?
    # TODO：做除法之前，先要在设备之间把什么加起来？
    raise NotImplementedError


def mixed_predict(
    predict: Callable, params: dict, inputs: jax.Array
) -> jax.Array:
    """pmap predict when some parameters are shared and some belong to one device.

    predict: predict(params, inputs) as in parallel_predict.
    params: a dict of dicts; an array whose name begins with "own_" has one slice
    per device along dimension 0, every other array is shared by all devices
    (whatever its shape).
    inputs: f32[devices, rows, features].
    Returns f32[devices, rows, outputs], stacked over the devices.

    有些参数由所有设备共享，有些参数每个设备各有自己的，请用 `pmap` 运行 predict。

    predict：predict(params, inputs) 与 parallel_predict 里的相同。
    params：字典的字典。名字以 "own_" 开头的数组沿第 0 维为每个设备各存一段，其余数组不论形
    状如何，都由所有设备共享。
    inputs：f32[devices, rows, features]。
    返回 f32[devices, rows, outputs]，由各设备的结果沿第 0 维堆叠而成。
    """
    # TODO: build an in_axes tree from the names, not from the shapes.
    # TODO：根据名字而不是形状，建一棵 in_axes 的树。
    raise NotImplementedError
