"""The exercises of ch05_constraints.

Work on your copy, answers/ch05_constraints.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch05_constraints.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax.lax import with_sharding_constraint  # noqa: F401
from jax.sharding import Mesh, NamedSharding  # noqa: F401
from jax.sharding import PartitionSpec as P  # noqa: F401


def spread_sums(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Compute fully sharded column sums of `x` at the cost of one all-reduce.

    x: f32[rows, columns], cut by P("x", "y"); `columns` is a multiple of the
    mesh's size.
    mesh: a mesh with the Auto axes "x" and "y".
    Returns f32[columns], fully sharded: each device holds a different part of
    it. The function is compiled with `jit`.
    Budget: all-reduces or reduce-scatters only. Each device sends at most
    2 (a-1)/a times the bytes of the sums of its columns, where a is the size of
    "x". This is the cost of one all-reduce of these sums along "x".

    求 x 每一列的总和，结果要完全分片，而且不能比求和本身多发一个字节。

    x：f32[rows, columns]，按 P("x", "y") 分片；columns 是设备总数的倍数。
    mesh：有 "x" 和 "y" 两个 Auto 轴。
    返回 f32[columns]，有多少个设备就切成多少个不同的部分。函数会用 `jit` 编译。
    预算：可用 all-reduce 或 reduce-scatter，每个设备发送的字节数，不能超过沿
    "x" 对自己持有的列和做一次 all-reduce 所发送的字节数；"x" 的大小为 a 时，上
    限是这些列和字节数的 2 (a-1)/a 倍。
    """
    # TODO: sum, then say where the result goes; the order of the axes matters.
    # TODO：先求和，再说明结果放在哪里；轴的顺序很重要。
    raise NotImplementedError


def running_totals(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Compute running totals down each column without gathering everything.

    x: f32[rows, columns], sharded with `P("x", "y")`; `columns` is a multiple
    of the mesh's size.
    mesh: a mesh with the Auto axes "x" and "y".
    Returns f32[rows, columns], the cumulative sums from top to bottom. Each
    device holds whole columns, and no column is on two devices. The function is
    compiled with `jit`.
    Budget: all-to-alls only. Each device sends at most (a-1)/a times the bytes
    of its part of `x`, where a is the size of "x". Only one layout of the
    result fits this budget.

    沿每一列求累积和，但不要把整列收集到每个设备上。

    x：f32[rows, columns]，按 P("x", "y") 分片；columns 是设备总数的倍数。
    mesh：有 "x" 和 "y" 两个 Auto 轴。
    返回 f32[rows, columns]，即从上到下的累积和，每个设备持有若干整列，没有哪一
    列同时放在两个设备上。函数会用 `jit` 编译。
    预算：只能用 all-to-all；"x" 的大小为 a 时，每个设备发送的字节数，最多是自
    己那部分 x 的字节数的 (a-1)/a。符合预算的结果布局只有一种。
    """
    # TODO: a cumulative sum needs whole columns; say how to distribute them.
    # TODO：求累积和需要整列；说明这些列怎样分给各设备。
    raise NotImplementedError


def keep_the_batch_apart(
    batch: jax.Array, layers: list[tuple[jax.Array, jax.Array]], mesh: Mesh
) -> jax.Array:
    """Apply `x = tanh(x @ w1) @ w2` layer by layer and keep every row in place.

    batch: f32[rows, features], P("x", None), the `x` of the first layer.
    layers: a list of pairs (w1, w2). w1: f32[features, hidden], P("x", "y");
    w2: f32[hidden, features], P("y", "x"). `hidden` may differ from layer to
    layer.
    mesh: a mesh with the Auto axes "x" and "y".
    Returns f32[rows, features] in the layout P("x", None). The function is
    compiled with `jit`. Without a constraint, the compiler gathers the rows of
    a small batch in the first layer, and from there on each device works on all
    of them.
    Budget: for each layer, two all-gathers along "x", one for each weight, and
    one all-reduce along "y", of the device's rows. If a and b are the sizes of
    "x" and "y", each device sends at most (a-1)/a × the weight's bytes / b in
    each all-gather and 2 (b-1)/b × its rows' bytes in the all-reduce.

    逐层计算 `x = tanh(x @ w1) @ w2`，每一行自始至终都留在原来的设备上。

    batch：f32[rows, features]，按 P("x", None) 分片，它就是第一层的输入 x。
    layers：由 (w1, w2) 组成的列表。w1 是 f32[features, hidden]，按 P("x", "y") 分片；
    w2 是 f32[hidden, features]，按 P("y", "x") 分片。各层的 hidden 可以不同。
    mesh：有 "x" 和 "y" 两个 Auto 轴。
    返回 f32[rows, features]，布局为 P("x", None)。函数会用 `jit` 编译；如果不
    加约束，而批次又较小，编译器在第一层就会把各行收集起来，此后每个设备处理的
    都是所有的行。
    预算："x"、"y" 的大小记为 a、b。每一层中，每个设备最多发送两部分数据。沿
    "x" 收集（all-gather）这一层的两个权重时，发送量是两个权重总字节数的
    (a-1)/a 再除以 b；沿 "y" 对自己的那些行做一次 all-reduce 时，发送量是这些行
    字节数的 2 (b-1)/b 倍。
    """
    # TODO: write the loop; which layout must you state, and how often?
    # TODO：写出循环；要说明哪些数组的布局，说几次？
    raise NotImplementedError


def dense(x: jax.Array, w: jax.Array, b: jax.Array, mesh: Mesh) -> jax.Array:
    """Compute relu(x @ w + b) on Explicit axes; say how to shard the product.

    x: f32[rows, features], P("x", "y").
    w: f32[features, outputs], P("y", None).
    b: f32[outputs], a copy on every device.
    mesh: a mesh with the Explicit axes "x" and "y". No mesh has been set with
    `set_mesh`.
    Returns f32[rows, outputs], P("x", None). The function is compiled with
    `jit`.
    Budget: all-reduces only. Each device sends at most 2 (k-1)/k times the
    bytes of its part of the result, where k is the size of "y". This is the
    cost of one all-reduce of that part along "y".

    在 Explicit 轴上计算 relu(x @ w + b)，由你说明乘积放在哪里。

    x：f32[rows, features]，按 P("x", "y") 分片。
    w：f32[features, outputs]，按 P("y", None) 分片。
    b：f32[outputs]，每个设备上各有一份。
    mesh：有 "x" 和 "y" 两个 Explicit 轴，没有用 `set_mesh` 设置过网格。
    返回 f32[rows, outputs]，按 P("x", None) 分片。函数会用 `jit` 编译。
    预算：只能用 all-reduce，每个设备发送的字节数，不能超过沿 "y" 对自己那部分
    结果做一次 all-reduce 所发送的字节数；"y" 的大小为 k 时，上限是这部分结果字
    节数的 2 (k-1)/k 倍。
    """
    # TODO: a bare `x @ w` raises an error here; which argument of jnp.dot
    # helps?
    # TODO：`x @ w` 会在这里报错；jnp.dot 有哪个参数可用？
    raise NotImplementedError
