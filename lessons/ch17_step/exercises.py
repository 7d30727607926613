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
    """Create an Optax optimizer's initial state, laid out like the parameters.

    optimizer: an Optax optimizer. Its state has, for each parameter, arrays of
    the parameter's shape; it also has other arrays, such as a count.
    params: a dict of f32 arrays, placed on `mesh`; two arrays of the same shape
    may have different layouts.
    mesh: a mesh with one Auto axis, "data".
    Returns `jax.tree.leaves` of the state that `optimizer.init(params)` gives.
    An array that belongs to a parameter is laid out like that parameter; every
    other array has a copy on every device.

    做出 Optax 优化器的初始状态，布局和参数一致。

    optimizer：它的状态里，每个参数都对应一些同样形状的数组，另外还有计数之类的数组。
    params：按名字存放的 f32 数组，已摆放到 mesh 上；形状相同的两个参数，布局可能不同。
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
    """Compute how many bytes a device holds and sends in a stage of ZeRO.

    parameters: the number of f32 parameters; n divides it.
    n: the number of devices along "data".
    stage: "DP", "ZeRO-1", "ZeRO-2" or "ZeRO-3".
    parts: the number of microbatches in a step. ZeRO-1 adds up the gradients of
    the microbatches and then sums the result over the devices once, as DP does;
    ZeRO-2 and ZeRO-3 sum the gradients over the devices for every microbatch.
    Returns a dict: "held" is the number of bytes of parameters and of Adam's
    two averages, all of them f32, that one device holds between two steps;
    "sent" is the number of bytes that it sends in a step. In ZeRO-3 all
    weights, not only those of the layers, are gathered twice for each
    microbatch: in the forward pass, and again in the backward pass. If a device
    needs only its part of a sum, the sum is a reduce-scatter; all collectives
    run in rings.

    用公式算出 ZeRO 的某个阶段里，一个设备要存放多少、发送多少。

    parameters：f32 参数的个数，能被 n 整除。
    n："data" 轴上的设备数。
    stage："DP"、"ZeRO-1"、"ZeRO-2" 或 "ZeRO-3"。
    parts：一步里的微批次数。第一阶段和 DP 一样，先累加各微批次的梯度，再在设备之间求和；第
    二、第三阶段每个微批次都求和一次。
    返回一个字典："held" 是两步之间一个设备持有的参数和 Adam 两个平均值（都是
    f32）的字节数；"sent" 是这个设备在一步里发送的字节数。在 ZeRO-3 里，每个微
    批次要把每个权重（不只是各层的）
    收集两次，前向一次，反向再一次。如果求和结果里每个设备只需要自己的一段，用的就是 reduce-scatter；所有集
    合通信都在环上进行。
    """
    # TODO: what is sharded, and how often does it travel?
    # TODO：哪些数组被切开了？每一种集合通信各做几次？
    raise NotImplementedError


def zero_one(
    w: jax.Array,
    momentum: jax.Array,
    x: jax.Array,
    y: jax.Array,
    limit: float,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    """Compute one step of ZeRO-1 with clipping; it sends hardly more than DP.

    The loss is the mean of `(x @ w - y) ** 2` over all rows and columns of y,
    on all devices together. Its gradient g with respect to w, f32[d, k], is
    clipped: if the norm of the whole g (the square root of the sum of the
    squares of its elements) is more than `limit`, g is multiplied by limit /
    norm. Then `momentum = 0.9 * momentum + g` and, with this new momentum,
    `w = w - 0.1 * momentum`.
    w: f32[d, k], a copy on every device.
    momentum: f32[d, k], sharded along d over "data"; the mesh's size n divides
    d.
    x: f32[rows, d], its rows sharded over "data"; n divides rows.
    y: f32[rows, k], sharded the same way as x.
    limit: the largest norm that g may have, more than 0.
    mesh: n devices on one Explicit axis, "data".
    Returns (w, momentum), both new: w whole on every device, momentum sharded
    along d, as they were before. The function is compiled with `jit`.
    Budget: one reduce-scatter and one all-gather of an array of 4 * d * k
    bytes, and one all-reduce of 4 bytes: a device sends at most 2 (n-1)/n * (4
    * d * k + 4) bytes.

    做一步带裁剪的 ZeRO-1，通信量只比数据并行多出一个数的求和。

    损失是 `(x @ w - y) ** 2` 对 y 的所有行、所有列的平均值，包括其他设备上的行。它对 w 的梯度
    g（f32[d, k]）要裁剪：整个 g 的范数（所有元素的平方和再开方）超过 limit 时，g 乘以
    limit / 范数。然后 `momentum = 0.9 * momentum + g`，再用新的 momentum 算出
    `w = w - 0.1 * momentum`。
    w：f32[d, k]，每个设备上各有完整的一份。
    momentum：f32[d, k]，沿 d 这一维切开，分到 "data" 轴上；d 能被设备数 n 整除。
    x：f32[rows, d]，沿 rows 这一维切开，分到 "data" 轴上；rows 能被 n 整除。
    y：f32[rows, k]，切法与 x 相同。
    limit：允许的最大范数，大于 0。
    mesh：n 个设备，只有一个 Explicit 轴 "data"。
    返回新的 (w, momentum)，布局和传入时一样，也就是每个设备上都有完整的 w，momentum 沿 d 切开。
    函数会用 `jit` 编译。
    预算：对一个 4 * d * k 字节的数组做一次 reduce-scatter 和一次 all-gather，再加一次 4 字节的
    all-reduce；每个设备最多发送 2 (n-1)/n * (4 * d * k + 4) 字节。
    """
    # TODO: which part of the summed gradient does a device need?
    # TODO：求和之后的梯度，每个设备只需要哪一段？
    raise NotImplementedError


def summed_in_f32(
    loss: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    """Compute a gradient in bf16 and sum it in f32, for f32 master weights.

    Round w to bf16. For each microbatch x[i], bf16[rows, d], each device
    computes the gradient of `loss` with respect to the rounded w, for the rows
    that it holds; the result is bf16[d, k]. Add up the results of all
    microbatches and devices in f32.
    loss: loss(w, x[i]) is one number, a sum over the rows of x[i]; it computes
    in bf16 if w and x[i] are bf16.
    w: f32[d, k], the master weights, a copy on every device.
    x: bf16[micro, rows, d], its rows sharded over "data"; `rows` is a multiple
    of n.
    mesh: n devices on one Explicit axis, "data".
    Returns the sum, f32[d, k], a copy on every device. The function is compiled
    with `jit`.
    Budget: all-reduces only, of 4 * d * k bytes in all: a device sends at most
    2 (n-1)/n * (4 * d * k) bytes, however many microbatches there are.

    用 bf16 求梯度，用 f32 累加，交给 f32 的主参数。

    先把 w 舍入成 bf16。每个微批次 x[i] 是 bf16[rows, d]；每个设备只用自己持有的那几行，求 loss 对
    舍入后的 w 的梯度，得到一个 bf16[d, k]。最后把所有微批次、所有设备的这些梯度用 f32 加起来。
    loss：loss(w, x[i]) 是一个数，即对 x[i] 各行的求和结果；w 和 x[i] 是 bf16，它就用 bf16 计算。
    w：f32[d, k]，即主参数，每个设备上各有完整的一份。
    x：bf16[micro, rows, d]，沿 rows 这一维切开，分到 "data" 轴上；rows 能被 n 整除。
    mesh：n 个设备，只有一个 Explicit 轴 "data"。
    返回总和，即 f32[d, k]，每个设备上各有完整的一份。函数会用 `jit` 编译。
    预算：只用 all-reduce，总共 4 * d * k 字节；无论有多少个微批次，每个设备最多发送
    2 (n-1)/n * (4 * d * k) 字节。
    """
    # TODO: which numbers are bf16, and where are many of them added up?
    # TODO：哪些数用 bf16，哪些数是许多数的累加？
    raise NotImplementedError


def keep_by_name(
    layer: Callable, w: jax.Array, x: jax.Array, mesh: Mesh
) -> jax.Array:
    """Differentiate through many layers, keeping one named array of each.

    x goes through the layers one after the other: `x = layer(x, w[0])`, then `x
    = layer(x, w[1])`, and so on. The loss is the sum of `x ** 2` after the last
    layer, over the rows of all devices.
    layer: layer(x, w[i]) takes f32[m, d], for any m, and f32[d], and returns
    the next x, of the same shape. Inside, one array of this shape, whose
    computation is most of the work, has the name "features"
    (`checkpoint_name`); other arrays are 16 times as large, are cheap to
    compute, and have no name.
    w: f32[layers, d], a copy on every device.
    x: f32[rows, d], its rows sharded over "data"; n divides rows.
    mesh: n devices on one Explicit axis, "data".
    Returns the gradient of the loss with respect to w, f32[layers, d], a copy
    on every device. The function is compiled with `jit`. Call `layer` in a scan:
    if you write the layers out, the CPU compiler may hold the large arrays of
    all of them at once.
    Budget: all-reduces only, 4 * layers * d bytes in all: a device sends at
    most 2 (n-1)/n * (4 * layers * d) bytes. In addition to arguments and
    results, a device may use temporaries (as the compiler counts them) of at
    most (4 * layers + 128) times its part of x, which has 4 * rows / n * d
    bytes. And "features" is computed once in each layer, in the forward pass;
    the backward pass uses the kept array.

    对许多层求梯度，每层只存带名字的结果。

    x 依次经过各层，先是 `x = layer(x, w[0])`，再是 `x = layer(x, w[1])`，以此类推。损失是最后一层
    之后 `x ** 2` 的总和，对所有行求和，包括其他设备上的行。
    layer：layer(x, w[i]) 的参数是 f32[m, d]（m 任意）和 f32[d]，返回下一个 x，形状不变。层里有一个
    同样形状的数组，名叫 "features"（用 `checkpoint_name` 起的名），大部分计算量都花在它上面；另外一些
    数组有它的 16 倍大，算起来很便宜，没有名字。
    w：f32[layers, d]，每个设备上各有完整的一份。
    x：f32[rows, d]，沿 rows 这一维切开，分到 "data" 轴上；rows 能被 n 整除。
    mesh：n 个设备，只有一个 Explicit 轴 "data"。
    返回损失对 w 的梯度，即 f32[layers, d]，每个设备上各有完整的一份。函数会用 `jit` 编译。请在
    scan 里调用 layer，因为如果逐层展开，有些版本的 CPU 编译器会让所有层的大数
    组同时占着内存。
    预算：只用 all-reduce，总共 4 * layers * d 字节，每个设备最多发送
    2 (n-1)/n * (4 * layers * d) 字节。除参数和结果以外的内存（即编译器所说的临
    时内存），一个设备最多占用它那一段 x 的 4 * layers + 128 倍，那一段是 4 *
    rows / n * d 字节。每一层的 "features" 只在
    前向时计算一次，反向用存下来的。
    """
    # TODO: what may a layer keep for the backward pass?
    # TODO：一层可以为反向存下什么？
    raise NotImplementedError
