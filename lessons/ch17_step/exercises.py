"""The exercises of ch17_step.

Work on your copy, answers/ch17_step.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch17_step.py 里作答，本文件保持原样。
"""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
import optax  # noqa: F401
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


def state_like(
    optimizer: optax.GradientTransformation, params: dict, mesh: Mesh
) -> list:
    """The first state of an Optax optimizer, laid out as its parameters are.

    optimizer: its state has, for each parameter, arrays of its shape, and other
    arrays such as a count.
    params: f32 arrays by name, placed on mesh; two of the same shape may lie
    differently.
    mesh: with one Auto axis, "data".
    Returns `jax.tree.leaves` of the state that `optimizer.init(params)` gives: an
    array that belongs to a parameter is laid out as this parameter, any other has
    a copy on every device.

    做出 Optax 优化器的初始状态，布局和参数一致。

    optimizer：它的状态里，每个参数都对应一些同样形状的数组，另外还有计数之类的数组。
    params：按名字存放的 f32 数组，已摆放到 mesh 上；形状相同的两个，布局可能不同。
    mesh：只有一个 Auto 轴 "data"。
    返回 `optimizer.init(params)` 所给状态的 `jax.tree.leaves`；属于某个参数的数组，布局与这个
    参数相同，其余的数组每个设备上各有一份。
    """
    # TODO: which of the state's arrays belongs to which parameter?
    # TODO：状态里的哪个数组属于哪个参数？
    raise NotImplementedError


def zero_bytes(
    parameters: int, n: int, stage: str, parts: int
) -> Mapping[str, int]:
    """What a device holds and sends, by formula, in a stage of ZeRO.

    parameters: how many f32 parameters there are; n divides it.
    n: devices along "data".
    stage: "DP", "ZeRO-1", "ZeRO-2" or "ZeRO-3".
    parts: microbatches of a step. Stage 1 adds up their gradients and then sums
    them over the devices, as DP does; stages 2 and 3 sum them in every part.
    Returns a dict: "held", the bytes of parameters and of Adam's two averages, all
    of them f32, that one device has between two steps; "sent", the bytes that it
    sends in a step. In ZeRO-3 every weight, not only those of the layers, is gathered
    twice in each part: forward, and again backward. A sum of which a device needs only its part is a
    reduce-scatter; all collectives run in rings.

    用公式算出 ZeRO 的某个阶段里，一个设备要存放多少、发送多少。

    parameters：f32 参数的个数，能被 n 整除。
    n："data" 轴上的设备数。
    stage："DP"、"ZeRO-1"、"ZeRO-2" 或 "ZeRO-3"。
    parts：一步里的微批次数。第一阶段和 DP 一样，先累加各微批次的梯度，再在设备之间求和；第
    二、第三阶段每个微批次都求和一次。
    返回一个字典："held" 是两步之间一个设备持有的参数和 Adam 两个平均值的字节数，它们都是
    f32；"sent" 是它在一步里发送的字节数。在 ZeRO-3 里，每个微批次要把每个权重（不只是各层的）
    收集两次，前向一次，反向再一次。如果求和结果里每个设备只需要自己的一段，用的就是 reduce-scatter；所有集
    合通信都在环上进行。
    """
    # TODO: what is cut, and how often does it travel?
    # TODO：哪些被切开了，又各走了几次？
    raise NotImplementedError


def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    """One step of ZeRO-1, clipped, for the price of data parallelism.

    The loss is the mean of `(x @ w - y) ** 2` over all rows and columns. Its
    gradient g is clipped: where its norm (the root of the sum of all its squares)
    is more than limit, it is multiplied by limit / norm. Then
    `momentum = 0.9 * momentum + g` and `w = w - 0.1 * momentum`.
    w: f32[d, k], a copy on every device.
    momentum: f32[d, k], rows cut over "data"; the mesh's size divides d.
    x: f32[rows, d], rows cut over "data".
    y: f32[rows, k], rows cut over "data".
    limit: the largest norm, more than 0.
    mesh: with one Explicit axis, "data".
    Returns (w, momentum), both new, laid out as they came. The function is compiled
    with `jit`.
    Budget: of the 4 * d * k bytes one reduce-scatter and one all-gather, and
    all-reduces of 4 bytes: on n devices each sends at most 2 (n-1)/n of all these
    bytes.

    做一步带裁剪的 ZeRO-1，通信量和数据并行一样。

    损失是 `(x @ w - y) ** 2` 对所有行、所有列的平均值。它的梯度 g 要裁剪：范数（所有元素的平
    方和再开方）超过 limit 时，乘以 limit / 范数。然后 `momentum = 0.9 * momentum + g`，
    `w = w - 0.1 * momentum`。
    w：f32[d, k]，每个设备上各有一份。
    momentum：f32[d, k]，各行沿 "data" 切开；d 能被设备数整除。
    x：f32[rows, d]，各行沿 "data" 切开。
    y：f32[rows, k]，各行沿 "data" 切开。
    limit：允许的最大范数，大于 0。
    mesh：只有一个 Explicit 轴 "data"。
    返回新的 (w, momentum)，布局都和传入时一样。函数会用 `jit` 编译。
    预算：4 * d * k 字节做一次 reduce-scatter 和一次 all-gather，另有 4 字节的 all-reduce；共 n 个
    设备时，每个设备最多发送这些字节的 2 (n-1)/n。
    """
    # TODO: which part of the summed gradient does a device need?
    # TODO：求和之后的梯度，每个设备只需要哪一段？
    raise NotImplementedError


def summed_in_f32(
    loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    """A gradient computed in bf16 and summed in f32, for an f32 master.

    loss: loss(w, x) is a sum over the rows of x, computed in the dtype of w and x.
    w: f32[d, k], the master, a copy on every device.
    x: bf16[micro, rows, d], rows cut over "data".
    mesh: with one Explicit axis, "data".
    Each device takes the gradient of loss in bf16, at w rounded to bf16, for its
    rows of one microbatch after the other.
    Returns the sum of these over microbatches and devices, f32[d, k], added up in
    f32, on every device. The function is compiled with `jit`.
    Budget: all-reduces only, of 4 * d * k bytes: on n devices each sends at most
    2 (n-1)/n of them.

    用 bf16 求梯度，用 f32 累加，交给 f32 的主参数。

    loss：loss(w, x) 对 x 的各行求和，用 w 和 x 的 dtype 计算。
    w：f32[d, k]，即主参数，每个设备上各有一份。
    x：bf16[micro, rows, d]，rows 这一维沿 "data" 切开。
    mesh：只有一个 Explicit 轴 "data"。
    先把 w 舍入成 bf16，每个设备再逐个微批次，用 bf16 对自己那几行求 loss 的梯度。
    返回这些梯度对所有微批次、所有设备的总和，即 f32[d, k]，用 f32 累加，每个设备上各有一份。
    函数会用 `jit` 编译。
    预算：只用 all-reduce，总共 4 * d * k 字节；共 n 个设备时，每个设备最多发送它的
    2 (n-1)/n。
    """
    # TODO: which numbers are bf16, and which add up many of them?
    # TODO：哪些数用 bf16，哪些数是许多数的累加？
    raise NotImplementedError


def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    """The gradient through many layers, of which only what has a name is kept.

    layer: layer(x, w) gives the next x. Inside, what costs most work has the name
    "features" (`checkpoint_name`); what takes most memory has none and is cheap.
    w: f32[layers, d], a copy on every device; layer takes a row of it.
    x: f32[rows, d], rows cut over "data".
    mesh: with one Explicit axis, "data".
    The loss is the sum of `x ** 2` after the last layer, over all rows.
    Returns its gradient with respect to w, f32[layers, d], on every device. The
    function is compiled with `jit`, and may call layer in a scan.
    Budget: all-reduces only, of 4 * layers * d bytes: on n devices each sends at
    most 2 (n-1)/n of them. Beside arguments and results a device needs at most
    4 * layers + 128 arrays of 4 * rows / n * d bytes. And "features" is computed
    once in each layer.

    求经过许多层的梯度，各层只存有名字的结果。

    layer：layer(x, w) 给出下一个 x。其中计算量最大的结果名叫 "features"
    （`checkpoint_name`）；最占内存的结果没有名字，重算很便宜。
    w：f32[layers, d]，每个设备上各有一份；layer 每次用它的一行。
    x：f32[rows, d]，各行沿 "data" 切开。
    mesh：只有一个 Explicit 轴 "data"。
    损失是最后一层之后 `x ** 2` 对所有行的总和。
    返回它对 w 的梯度，即 f32[layers, d]，每个设备上各有一份。函数会用 `jit` 编译，可以在 scan
    里调用 layer。
    预算：只用 all-reduce，总共 4 * layers * d 字节；共 n 个设备时，每个设备最多发送它的
    2 (n-1)/n。除参数和结果外，一个设备最多占用 4 * layers + 128 个 4 * rows / n * d 字节的数组。
    每一层的 "features" 只计算一次。
    """
    # TODO: what may a layer keep for the backward pass?
    # TODO：一层可以为反向存下什么？
    raise NotImplementedError
