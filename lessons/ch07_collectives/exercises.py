"""The exercises of ch07_collectives.

Work on your copy, answers/ch07_collectives.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch07_collectives.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
import numpy as np
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401

from minipod.traffic import Link


def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Add up the rows of all devices by passing pieces around a ring.

    x: f32[n, m], one row on each of the n devices, that is, sharded with
    `P("x")`; m is a multiple of n.
    mesh: a mesh with one Explicit axis, "x", of size n ≥ 2.
    Returns f32[n, m] with the same sharding, in which every row is the sum of
    all rows of `x`. The function is compiled with `jit`.
    Budget: collective-permutes only, in a loop or unrolled. Each device sends
    at most 2 (n-1)/n times the bytes of its row, that is, 2 (n-1) pieces of
    m / n numbers. Pass each piece to a neighbour: on a ring of TPU v4 chips,
    ignoring latency, all transfers together may take no longer than sending
    2 (n-1) pieces one after the other over one link.

    把数据切成小块，绕环传递，把所有设备上的行加在一起。

    x：f32[n, m]，n 个设备各持有一行，也就是按 `P("x")` 分片；m 是 n 的倍数。
    mesh：只有一个 Explicit 轴 "x"，大小 n ≥ 2。
    返回 f32[n, m]，分片方式不变，每一行都是 x 所有行的总和。函数会用 `jit` 编译。
    预算：只用 collective-permute（写成循环或逐次写出都可以），每个设备最多发送
    自己那一行字节数的 2 (n-1)/n 倍，也就是 2 (n-1) 小块，每块 m / n 个数。请把每一小块传给邻居：在 TPU v4 的环上，
    只按字节数算，全部传输用时不得超过 2 (n-1) 小块先后走过一条链路的时间。
    """
    # TODO: one round to add up the pieces, one to distribute the sums.
    # TODO：一轮用来把各小块加起来，一轮用来把总和分发出去。
    raise NotImplementedError


def mean_gradient_shards(
    gradients: dict[str, jax.Array], mesh: Mesh
) -> dict[str, jax.Array]:
    """Average gradients over all devices and keep a piece of the mean on each.

    gradients: a dict with an array f32[n, a, …] for each parameter. Entry i
    along the first dimension is the gradient that device i has computed, so the
    arrays are sharded with `P("x")`; the size a is a multiple of n.
    mesh: a mesh with one Explicit axis, "x", of size n.
    Returns a dict with the mean over the devices for each parameter, f32[a, …],
    with its first dimension sharded over "x". The function is compiled with
    `jit`.
    Budget: reduce-scatters only. Each device sends at most (n-1)/n of the bytes
    of its gradients.

    对所有设备的梯度求平均，每个设备只留下平均梯度中自己的那一段。

    gradients：每个参数有一个 f32[n, a, …]，第 0 维中下标为 i 的一项是设备 i 算出的梯度，因
    此按 `P("x")` 分片；a 是 n 的倍数。
    mesh：只有一个 Explicit 轴 "x"，大小为 n。
    返回每个参数的梯度在各设备上的平均值，即 f32[a, …]，第 0 维沿 "x" 切开。函
    数会用 `jit` 编译。
    预算：只用 reduce-scatter，每个设备最多发送自己全部梯度字节数的 (n-1)/n。
    """
    # TODO: which collective sums, but gives each device only a part?
    # TODO：哪种集合通信既求和，又只给每个设备一部分？
    raise NotImplementedError


def to_experts(
    tokens: jax.Array, expert: jax.Array, weights: jax.Array, mesh: Mesh
) -> jax.Array:
    """Send every token to its expert and bring the results back.

    tokens: f32[k, d], sharded over "x": each device has k / n tokens.
    expert: i32[k], also sharded over "x", the number of each token's expert.
    Each device has the same number of tokens for each expert, in any order. (In
    a real model these numbers differ: an expert has room for a fixed number of
    tokens, its capacity, and the rest are dropped. Here nothing is dropped.)
    weights: f32[n, d, h], sharded with `P("x")`, so device e has the matrix of
    expert e.
    mesh: a mesh with one Explicit axis, "x", of size n.
    Returns f32[k, h], sharded over "x", with row i equal to `tokens[i] @
    weights[expert[i]]`. This is expert parallelism. The function is compiled
    with `jit`.
    Budget: all-to-alls only. The tokens of a device travel once, and their
    results once: a device sends at most (n-1)/n of the bytes of both together.

    把每个词元送到它的专家那里，再把结果取回来，也就是专家并行。

    tokens：f32[k, d]，沿 "x" 切开，每个设备有 k / n 个词元。
    expert：i32[k]，也沿 "x" 切开，是每个词元所属专家的编号。在每个设备上，分给各个专
    家的词元数目相同，顺序任意。在真实的模型里，这些数目并不相同。每个专家有
    固定的名额，叫容量（capacity），超出容量的词元会被丢掉；这里不会丢掉任何词元。
    weights：f32[n, d, h]，按 `P("x")` 分片，设备 e 持有专家 e 的矩阵。
    mesh：只有一个 Explicit 轴 "x"，大小为 n。
    返回 f32[k, h]，沿 "x" 切开，下标为 i 的行等于 `tokens[i] @ weights[expert[i]]`。函数会
    用 `jit` 编译。
    预算：只用 all-to-all；每个设备的词元送出一次，结果送回一次，也就是每个
    设备最多发送这两者总字节数的 (n-1)/n。
    """
    # TODO: sort, send, multiply, send back, and undo the sorting.
    # TODO：排序，送出，相乘，送回，再还原顺序。
    raise NotImplementedError


def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    """Name the collective that was run and compute its bytes.

    before: [n, k] with n ≥ 2, where row i is the block of device i and k is a
    multiple of n, k ≥ 2n. The numbers are random, of any dtype except bool and
    bf16 (which the traffic table shows as the wider type that is sent).
    after: [n, m], where row i is the data of device i afterwards. All devices
    ran one tiled collective along one axis of n devices. A reduction may be
    a sum, a maximum or a minimum. A permute may leave devices without a
    source, and these then hold zeros.
    Returns (name, bytes).
    name: one of "all-reduce", "all-gather", "reduce-scatter", "all-to-all" or
    "collective-permute".
    bytes: the number in the column “bytes” of a traffic table.

    根据前后的数据，判断发生的是哪一种集合通信，并给出它的字节数。

    before：[n, k]，n ≥ 2，下标为 i 的行是设备 i 的块；k 是 n 的倍数，且 k ≥ 2n。数字是随机
    的，dtype 任意，但不会是 bool 或 bf16，因为通信量表会按发送时所用的更宽的类
    型来计这两种类型。
    after：[n, m]，下标为 i 的行是设备 i 最后的数据。从 before 到 after，只沿着
    一个有 n 个设备的轴做了一次集合通信（tiled=True）。归约可能是求和、取最大值
    或取最小值；置换时可能有设备没有来源，这样的设备得到的全是零。
    返回 (name, bytes)。
    name："all-reduce"、"all-gather"、"reduce-scatter"、"all-to-all"、
    "collective-permute" 之一。
    bytes：字节数，与通信量表中“字节”一栏的含义相同。
    """
    # TODO: look at the shapes first, then at the numbers.
    # TODO：先看形状，再看数值。
    raise NotImplementedError


def fastest_mesh(
    w: jax.Array,
    x: jax.Array,
    sums: int,
    room: int,
    devices: list,
    link: Link,
) -> tuple[jax.Array, jax.Array]:
    """Choose the mesh with the least communication time for a training step.

    w: f32[features, outputs], the weights, on one device. On the mesh, each
    device gets `outputs / model` columns of `w`.
    x: f32[rows, features], the activations, on one device. On the mesh, each
    device gets `rows / data` rows of `x`.
    sums: the number of all-reduces of activations in a step.
    room: the largest number of bytes of `w` that fit on a device.
    devices: a list of devices, all on one switch. In this order, row by row,
    they form a mesh of data × model, with the axes "data" and "model".
    link: the link between them. An all-reduce of b bytes over n devices takes
    2 max(b (n-1)/n / link.bytes_per_second, link.latency) seconds; over one
    device, it takes no time.

    A step has one all-reduce of w.nbytes / model bytes along "data", for the
    gradients, and `sums` all-reduces of x.nbytes / data bytes each along
    "model". All these all-reduces run one after the other. Here `data` and
    `model` are the sizes of the two axes. Every `model` that divides the number
    of devices also divides `outputs`, and every such `data` also divides
    `rows`.
    Returns (weights, activations), laid out on the fastest mesh: of the meshes
    on which `w` fits, the one on which a step takes the least time. There is
    exactly one such mesh.
    weights: `w`, with its columns sharded over "model" and copied along "data".
    activations: `x`, with its rows sharded over "data" and copied along
    "model".

    在放得下权重的网格里，选出训练一步通信时间最短的一个，再把权重和激活值放上
    去。

    w：f32[features, outputs]，权重，在一个设备上。放到网格上以后，每个设备持有其中的
    outputs / model 列。
    x：f32[rows, features]，激活值，在一个设备上。放到网格上以后，每个设备持有其中的
    rows / data 行。
    sums：一步里对激活值做几次 all-reduce。
    room：一个设备最多放得下 w 的多少字节。
    devices：若干个设备，都接在同一台交换机上，要按给定的顺序排成 data × model 的网格，先排
    满第一行，再排第二行；两个轴叫 "data" 和 "model"。
    link：所用的链路。n 个设备对 b 字节做一次 all-reduce，用时 2 max(b (n-1)/n
    / link.bytes_per_second,
    link.latency) 秒；只有一个设备时不花时间。

    一步里，沿 "data" 对梯度做一次 all-reduce，大小为 w.nbytes / model 字节；沿 "model" 做
    sums 次 all-reduce，每次 x.nbytes / data 字节。各次 all-reduce 依次进行。凡
    是能整除设备数的 model，都能整除 outputs；凡是能整除设备数的 data，都能整除
    rows。
    返回 (weights, activations)，放在装得下 w 而且一步用时最短的网格上。最快的
    网格只有一个。
    weights：即 w，它的列沿 "model" 切开，沿 "data" 复制。
    activations：即 x，它的行沿 "data" 切开，沿 "model" 复制。
    """
    # TODO: which meshes are there, which fit, and how long does each take?
    # TODO：有哪些网格，哪些放得下，各要多长时间？
    raise NotImplementedError
