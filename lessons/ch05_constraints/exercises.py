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
    """Column sums of x, fully sharded, without a byte more than the sum itself costs.

    x: f32[rows, columns], sharded P("x", "y") on mesh, whose axes "x" and "y" are Auto;
    columns is a multiple of the mesh's size. The function is compiled with `jit`.
    Returns f32[columns] cut into as many different parts as there are devices.
    Budget: what one all-reduce along "x" of the columns that a device holds makes it
    send, 2 (a-1)/a of their bytes, a being the size of "x"; nothing else.

    求 x 每一列的和，结果要完全分片，而且通信量不能超过求和本身所需。
    x 在 mesh 上按 P("x", "y") 分片，"x" 和 "y" 都是 Auto 轴；列数是设备总数的倍数。
    函数会用 `jit` 编译。返回值的形状是 [columns]，有多少个设备就切成多少个不同的部分。
    预算：只能沿 "x" 做一次 all-reduce，对象是一个设备所持有的那些列和；"x" 的大小为 a 时，
    每个设备发送的字节数是它们的 2 (a-1)/a。此外不能有任何通信。
    """
    # TODO: sum, then say where the result shall lie; the order of the axes counts.
    # TODO：先求和，再说明结果放在哪里；轴的顺序很重要。
    raise NotImplementedError


def running_totals(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Running totals along each row, without gathering the rows.

    x: f32[rows, columns], sharded P("x", "y") on mesh, whose axes "x" and "y" are Auto;
    rows is a multiple of the mesh's size. The function is compiled with `jit`.
    Returns f32[rows, columns], the cumulative sums from left to right, with whole rows
    on each device, in the layout P(("x", "y"), None).
    Budget: each device sends at most (b-1)/b of the bytes of its part of x, b being the
    size of "y", by all-to-all only.

    沿每一行求累积和，但不要把整行收集到每个设备上。
    x 在 mesh 上按 P("x", "y") 分片，"x" 和 "y" 都是 Auto 轴；行数是设备总数的倍数。
    函数会用 `jit` 编译。返回从左到右的累积和，形状不变，
    每个设备持有若干整行，布局为 P(("x", "y"), None)。
    预算：只能用 all-to-all；"y" 的大小为 b 时，每个设备最多发送自己那部分 x 的字节数的
    (b-1)/b。
    """
    # TODO: a cumulative sum needs whole rows; say how to deal them out.
    # TODO：求累积和需要整行；说明这些行怎样分给各设备。
    raise NotImplementedError


def keep_the_batch_apart(
    batch: jax.Array, w1: jax.Array, w2: jax.Array, mesh: Mesh
) -> jax.Array:
    """`tanh(batch @ w1) @ w2`, with every row of the result where its batch row is.

    mesh has the Auto axes "x" and "y". batch: f32[rows, features], P("x", None);
    w1: f32[features, hidden], P("x", "y"); w2: f32[hidden, features], P("y", "x").
    The function is compiled with `jit`; left alone, the compiler gathers a small batch.
    Returns f32[rows, features] in the layout P("x", None).
    Budget: what a device sends for all-gathers of both weights along "x", (a-1)/a of
    their bytes over b, and for one all-reduce along "y" of its own rows, 2 (b-1)/b of
    their bytes; a and b are the sizes of "x" and "y".

    计算 `tanh(batch @ w1) @ w2`，结果的每一行都要和批次中对应的行待在一起。
    mesh 有 Auto 轴 "x" 和 "y"。batch 按 P("x", None) 分片，w1 按 P("x", "y")，
    w2 按 P("y", "x")。函数会用 `jit` 编译；如果什么都不说，批次较小时编译器会把它收集起来。
    返回值的形状是 [rows, features]，布局为 P("x", None)。
    预算："x"、"y" 的大小记为 a、b。每个设备可以发送的有两项：沿 "x" 收集（all-gather）
    两个权重，为它们的字节数除以 b，再乘 (a-1)/a；沿 "y" 对自己的那些行做一次 all-reduce，
    为这些行的字节数乘 2 (b-1)/b。
    """
    # TODO: one word, in the right place.
    # TODO：只要一句话，放对地方。
    raise NotImplementedError


def dense(x: jax.Array, w: jax.Array, b: jax.Array, mesh: Mesh) -> jax.Array:
    """relu(x @ w + b) in the explicit style: say where the product shall lie.

    mesh has the Explicit axes "x" and "y"; no mesh has been set with `set_mesh`.
    x: f32[rows, features], P("x", "y"); w: f32[features, outputs], P("y", None);
    b: f32[outputs], a copy on every device.
    Returns f32[rows, outputs], P("x", None).
    The function is compiled with `jit`.
    Budget: one all-reduce along "y", and nothing else, of a device's part of the
    result: each device sends 2 (k-1)/k of that part's bytes, k being the size of "y".

    用显式（Explicit）写法计算 relu(x @ w + b)：由你说明乘积放在哪里。
    mesh 有 Explicit 轴 "x" 和 "y"，没有用 `set_mesh` 设置过网格。
    x 按 P("x", "y") 分片，w 按 P("y", None)，b 在每个设备上各有一份。
    返回值的形状是 [rows, outputs]，按 P("x", None) 分片。
    函数会用 `jit` 编译。
    预算：只能沿 "y" 做一次 all-reduce，对象是一个设备所持有的那部分结果；"y" 的大小为 k 时，
    每个设备发送的字节数是它的 2 (k-1)/k。
    """
    # TODO: `x @ w` stops here; which argument does jnp.dot have for it?
    # TODO：`x @ w` 会在这里报错；jnp.dot 有哪个参数可用？
    raise NotImplementedError
