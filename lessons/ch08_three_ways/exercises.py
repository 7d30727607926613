"""The exercises of ch08_three_ways.

Work on your copy, answers/ch08_three_ways.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch08_three_ways.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax import lax  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


def mlp_by_constraints(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    """Compute two layers with sharded hidden features, using constraints.

    x: f32[rows, features], laid out as P("data", None). The size of "data" divides
    `rows`; the size of "model" divides `features` and `hidden`.
    w1: f32[features, hidden], a copy on every device.
    b1: f32[hidden], a copy on every device.
    w2: f32[hidden, features], a copy on every device.
    b2: f32[features], a copy on every device.
    mesh: a mesh with the Auto axes "data" and "model".
    Returns (h, out). The function is compiled with `jit`.
    h: f32[rows, hidden], `tanh(x @ w1 + b1)`, laid out as P("data", "model").
    out: f32[rows, features], `h @ w2 + b2`, laid out as P("data", None).

    Divide the work along "model" as well as along "data": each device computes
    only its own part of `h`, and only the contribution of this part to
    `h @ w2`.
    Budget: all-reduces only. Each device sends at most 2 (m-1)/m times the
    bytes of its part of `out`, where m is the size of "model". This is the cost
    of one all-reduce of that part along "model".

    用约束写两层网络，把隐藏层的特征切开。

    x：f32[rows, features]，按 P("data", None) 摆放。"data" 的大小能整除 rows，"model" 的大
    小能整除 features 和 hidden。
    w1：f32[features, hidden]，每个设备上各有一份。
    b1：f32[hidden]，每个设备上各有一份。
    w2：f32[hidden, features]，每个设备上各有一份。
    b2：f32[features]，每个设备上各有一份。
    mesh：有 "data" 和 "model" 两个 Auto 轴。
    返回 (h, out)。函数会用 `jit` 编译。
    h：f32[rows, hidden]，即 `tanh(x @ w1 + b1)`，按 P("data", "model") 摆放。
    out：f32[rows, features]，即 `h @ w2 + b2`，按 P("data", None) 摆放。

    计算量也要沿 "model" 分摊，就像沿 "data" 一样：每个设备只计算 h 中自己的那
    一块，以及由这一块算出的 `h @ w2` 的部分和。
    预算：只能用 all-reduce，每个设备发送的字节数，最多与沿 "model" 对自己那部
    分 out 做一次 all-reduce 时相同；"model" 的大小为 m 时，就是这部分 out 的字
    节数的 2 (m-1)/m 倍。
    """
    # TODO: say how h, w2 and out are sharded; the compiler finds the rest.
    # TODO：说明 h、w2 和 out 放在哪里，其余的由编译器决定。
    raise NotImplementedError


def mlp_by_hand(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    """Compute the two layers of `mlp_by_constraints`, with `jax.shard_map`.

    x: f32[rows, features], laid out as P("data", None), with the same sizes as
    in `mlp_by_constraints`.
    w1: f32[features, hidden], a copy on every device.
    b1: f32[hidden], a copy on every device.
    w2: f32[hidden, features], a copy on every device.
    b2: f32[features], a copy on every device.
    mesh: a mesh with the Auto axes "data" and "model".
    Returns (h, out). The whole function is compiled with `jit`.
    h: f32[rows, hidden], `tanh(x @ w1 + b1)`, laid out as P("data", "model").
    out: f32[rows, features], `h @ w2 + b2`, laid out as P("data", None).

    Divide the work along "model" as well as along "data": each device computes
    only its own part of `h`, and only the contribution of this part to
    `h @ w2`.
    Budget: all-reduces only. Each device sends at most 2 (m-1)/m times the
    bytes of its part of `out`, where m is the size of "model". This is the cost
    of one all-reduce of that part along "model".

    网络、输入和预算都与练习 1 相同，改用 `jax.shard_map` 来写。

    x：f32[rows, features]，按 P("data", None) 摆放，各维的大小与 mlp_by_constraints 相同。
    w1：f32[features, hidden]，每个设备上各有一份。
    b1：f32[hidden]，每个设备上各有一份。
    w2：f32[hidden, features]，每个设备上各有一份。
    b2：f32[features]，每个设备上各有一份。
    mesh：有 "data" 和 "model" 两个 Auto 轴。
    返回 (h, out)。函数会整个用 `jit` 编译。
    h：f32[rows, hidden]，即 `tanh(x @ w1 + b1)`，按 P("data", "model") 摆放。
    out：f32[rows, features]，即 `h @ w2 + b2`，按 P("data", None) 摆放。

    计算量也要沿 "model" 分摊，就像沿 "data" 一样：每个设备只计算 h 中自己的那
    一块，以及由这一块算出的 `h @ w2` 的部分和。
    预算：只能用 all-reduce，每个设备发送的字节数，最多与沿 "model" 对自己那部
    分 out 做一次 all-reduce 时相同；"model" 的大小为 m 时，就是这部分 out 的字
    节数的 2 (m-1)/m 倍。
    """
    # TODO: write the computation of one device on its rows and hidden features.
    # TODO：写出一个设备用自己的行和自己的隐藏特征做什么。
    raise NotImplementedError


def mlp_explicit(
    x: jax.Array,
    w1: jax.Array,
    b1: jax.Array,
    w2: jax.Array,
    b2: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array]:
    """Compute the two layers of `mlp_by_constraints`, on Explicit axes.

    x: f32[rows, features], laid out as P("data", None), with the same sizes as in
    `mlp_by_constraints`.
    w1: f32[features, hidden], a copy on every device.
    b1: f32[hidden], a copy on every device.
    w2: f32[hidden, features], a copy on every device.
    b2: f32[features], a copy on every device.
    mesh: a mesh with the Explicit axes "data" and "model". No mesh has been set
    with `set_mesh` when your function is called.
    Returns (h, out). The function is compiled with `jit`.
    h: f32[rows, hidden], `tanh(x @ w1 + b1)`, laid out as P("data", "model").
    out: f32[rows, features], `h @ w2 + b2`, laid out as P("data", None).

    Divide the work along "model" as well as along "data": each device computes
    only its own part of `h`, and only the contribution of this part to
    `h @ w2`.
    Budget: all-reduces only. Each device sends at most 2 (m-1)/m times the
    bytes of its part of `out`, where m is the size of "model". This is the cost
    of one all-reduce of that part along "model".

    网络、输入和预算仍与练习 1 相同，这次用 Explicit 轴来写。

    x：f32[rows, features]，按 P("data", None) 摆放，各维的大小与 mlp_by_constraints 相同。
    w1：f32[features, hidden]，每个设备上各有一份。
    b1：f32[hidden]，每个设备上各有一份。
    w2：f32[hidden, features]，每个设备上各有一份。
    b2：f32[features]，每个设备上各有一份。
    mesh：有 "data" 和 "model" 两个 Explicit 轴。调用函数之前，没有用
    `set_mesh` 设置过网格。
    返回 (h, out)。函数会用 `jit` 编译。
    h：f32[rows, hidden]，即 `tanh(x @ w1 + b1)`，按 P("data", "model") 摆放。
    out：f32[rows, features]，即 `h @ w2 + b2`，按 P("data", None) 摆放。

    计算量也要沿 "model" 分摊，就像沿 "data" 一样：每个设备只计算 h 中自己的那
    一块，以及由这一块算出的 `h @ w2` 的部分和。
    预算：只能用 all-reduce，每个设备发送的字节数，最多与沿 "model" 对自己那部
    分 out 做一次 all-reduce 时相同；"model" 的大小为 m 时，就是这部分 out 的字
    节数的 2 (m-1)/m 倍。
    """
    # TODO: change the types of the weights, then say how the product is
    # sharded.
    # TODO：先用 reshard 改变权重的类型，再用 out_sharding 说明乘积的布局。
    raise NotImplementedError


def collective_matmul(x: jax.Array, w: jax.Array, mesh: Mesh) -> jax.Array:
    """Compute `x @ w` while the rows of `x` travel, without gathering `x`.

    x: f32[rows, features], laid out as P("x", None). For this product, the CPU
    compiler gathers all of `x` on every device.
    w: f32[features, columns], laid out as P(None, "x").
    mesh: a mesh with one Explicit axis, "x", whose size n divides `rows` and
    `columns`.
    Returns f32[rows, columns], laid out as P(None, "x"). The function is compiled
    with `jit`.
    Budget: each device sends at most n - 1 times the bytes of its part of `x`,
    by collective-permute only. For each permute, there must be a product that
    does not wait for it. In addition to the arguments and the result, a device
    has room for n // 2 + 1 parts of `x`, two more copies of the result, and
    1 KiB.

    计算 `x @ w`，但不收集 x，而是一边用手里的行做乘法，一边传下一批行。

    x：f32[rows, features]，按 P("x", None) 摆放。这个乘法若交给 CPU 的编译
    器，每个设备都会收集整个 x。
    w：f32[features, columns]，按 P(None, "x") 摆放。
    mesh：只有一个 Explicit 轴 "x"，它的大小 n 能整除 rows 和 columns。
    返回 f32[rows, columns]，按 P(None, "x") 摆放。函数会用 `jit` 编译。
    预算：只能用 collective-permute，每个设备最多发送自己那部分 x 的字节数的
    n - 1 倍。每次 permute 传输期间，都要有一个不必等待这次传输的矩阵乘法可以同
    时进行。除了参数和结果，每个设备的内存还能放下 n // 2 + 1 份与自己那部分 x 一
    样大的数据、两份与结果一样大的数据，另加 1 KiB。
    """
    # TODO: send the rows around the ring; which device's rows do you hold after
    # each step?
    # TODO：让各行绕环传递；每走一步之后，你手里是哪个设备的行？
    raise NotImplementedError
