"""The exercises of ch19_sequences.

Work on your copy, answers/ch19_sequences.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch19_sequences.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    """Merge the attention that n devices have computed, each over its own keys.

    The keys are split into n parts. For each part, the arguments contain the
    results of the chapter's function `part`, for one head and i queries, with
    the differences stated below. The arrays are already on one device, so the
    function needs no mesh. Below, `top` is the largest score that a query has
    in a part.
    values: f32[n, i, d]. For each part and query, exp(score - top) times the
    key's value is summed over the part's keys that the query sees. The sum is 0
    if the query sees none.
    tops: f32[n, i]; if the query sees no key of the part, -inf (not `LOW`).
    totals: f32[n, i], the sum of exp(score - top) over the same keys; 0 if the
    query sees none.
    Every query sees a key in at least one of the parts. Scores are between
    -10,000 and 10,000, and no result may be nan.
    Returns f32[i, d], the attention of each query to all keys that it sees: the
    mean of their values, weighted by exp(score).

    n 个设备各自对自己的键做完了注意力，请把它们的结果合并起来。

    键分成 n 个部分。对每个部分，已经有了 3 样东西，与正文里 `part` 返回的差不多，只有一个头、i 个查询；数据没
    有分片，用不到网格。下文的 score 是一个查询对一个键的得分，top 是这个查询在这个部分里的最大得分。
    values：f32[n, i, d]；对每个部分、每个查询，把该部分里它看得到的每个键的值乘以
    exp(score - top)，再加起来。一个键也看不到时为 0。
    tops：f32[n, i]；如果查询看不到这个部分的任何键，则为 -inf（不是 `LOW`）。
    totals：f32[n, i]，exp(score - top) 的总和；看不到任何键时为 0。
    每个查询至少在一个部分里看得到键。得分在 -10,000 与 10,000 之间，结果里不能有 nan。
    返回 f32[i, d]，即每个查询对它看得到的所有键的注意力，也就是这些键的值以 exp(score) 为权的
    加权平均。
    """
    # TODO: rescale all parts to one top, then add and divide.
    # TODO：先换算到同一个 top，再相加、相除。
    raise NotImplementedError


def window_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh
) -> jax.Array:
    """Let each position attend only to itself and a few positions before it.

    q, k, v: f32[b, T, h, d]; the dimensions are batch, positions, heads, and
    the width of a head. All three arrays are sharded along the positions, with
    `P(None, "s")`: each device has one block of each array, with T / n
    consecutive positions; n divides T. A score is the dot product of a query
    and a key, divided by √d.
    window: an int, ≥ 2; the query at position p sees the positions p - window +
    1 … p, except those below 0.
    mesh: n ≥ 2 devices on one Auto axis, "s".
    Returns the attention, f32[b, T, h, d], sharded like q. The function is
    compiled with `jit`.
    Budget: collective-permutes only. Let `back` be the number of earlier blocks
    that a window can reach: `(window - 1) / (T / n)`, rounded up, but at most
    n - 1. A device sends at most the bytes of `back` blocks of k and of `back`
    blocks of v. In addition to its arguments and result, it may use memory for
    24 blocks of k and for the scores of 12 pairs of blocks, each pair
    f32[b, h, T / n, T / n]. It may do at most 1.5 times the multiplications of
    the solution, which computes 1 + `back` pairs of blocks.

    序列已经切开，每个位置只看自己和前面最近的几个位置。

    q、k、v：f32[b, T, h, d]，4 维依次是批次、位置、头、头的宽度。沿位置切开，即 `P(None, "s")`，所以
    每个设备各有 q、k、v 的一块，每块是按顺序的 T / n 个位置；T 能被 n 整除。得分是查询与键的内积
    除以 √d。
    window：Python 整数，不是数组，≥ 2；位置 p 的查询看得到位置 p - window + 1 … p，其中小于 0 的不算。
    mesh：n ≥ 2 个设备，只有一个 Auto 轴 "s"。
    返回注意力的结果 f32[b, T, h, d]，分片方式与 q 相同。函数会用 `jit` 编译。
    预算：只用 collective-permute。窗口往前够到 back 块，back 由 (window - 1) /
    (T / n) 向上取整得到，最多 n - 1；每个设备最多发送 back 块 k 和 back 块 v。
    除输入和结果以外，最多再占用 12 对块的得分
    （每对是 f32[b, h, T / n, T / n]）和 24 块 k 所占的内存。乘法量最多是解答的 1.5 倍，解答一共算
    1 + back 对块。
    """
    # TODO: how many blocks before its own does a device need?
    # TODO：除了自己的块，一个设备还需要前面的几个块？
    raise NotImplementedError


def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    """Run Ulysses with fewer key heads than devices.

    q: f32[b, T, h, d]; the dimensions are batch, positions, heads, and the
    width of a head. q is sharded along the positions, with `P(None, "s")`; n
    divides T and h.
    k, v: f32[b, T, g, d], sharded like q; g divides n, and g < n. Query head
    j uses head j // (h / g) of k and v.
    mesh: n devices on one Auto axis, "s".
    Returns the causal attention, f32[b, T, h, d], sharded along the positions
    again, like q. A score is the dot product of a query and a key, divided by
    √d. The function is compiled with `jit`.
    Budget: all-to-alls only. If a device's block of q has Q bytes and its block
    of k has K bytes, the device sends at most (n-1)/n * (2 * Q + 2 * K * n / g)
    bytes: q and the result once each, and k and v once each, with every head
    repeated n / g times.

    键的头比设备少，请写出这时的 Ulysses。

    q：f32[b, T, h, d]，4 维依次是批次、位置、头、头的宽度。沿位置切开，即 `P(None, "s")`；T 和 h 都能被
    n 整除。
    k、v：f32[b, T, g, d]，分片方式与 q 相同；n 能被 g 整除，而且 g < n。下标为 j 的查询头使用 k 和 v
    中下标为 j // (h / g) 的头。
    mesh：n 个设备，只有一个 Auto 轴 "s"。
    返回因果注意力的结果 f32[b, T, h, d]，仍然沿位置切开，与 q 相同。得分是查询与键的内积除以 √d。
    函数会用 `jit` 编译。
    预算：只用 all-to-all。一个设备的一块 q 是 Q 字节，一块 k 是 K 字节，这个设
    备最多发送 (n-1)/n * (2 * Q + 2 * K * n / g) 字节，也就是 q 和结果各换一次，k 和 v 把每个头复制 n / g 份之后
    也各换一次。
    """
    # TODO: which head of k and v does each device need for its heads of q?
    # TODO：每个设备上的查询头，需要 k 和 v 的哪一个头？
    raise NotImplementedError


def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Rotate each position by its own angles when positions are in zigzag order.

    x: f32[T, d], a row for each position, its rows sharded with `P("s")`; d is
    even, and 2 n divides T. The rows are in the order of the chapter's zigzag:
    the sequence is split into 2 n chunks, and device i has chunk i and then
    chunk 2 n - 1 - i. Devices and chunks are counted from 0, and the rows of a
    chunk keep their order.
    mesh: n devices on one Auto axis, "s"; device i is the i-th along it.
    Returns f32[T, d], in the same order, sharded the same way, each row rotated
    by the angles of its position p in the sequence, counted from 0. For each m
    from 0 to d/2 - 1, let a = row[m] and b = row[m + d/2]. The angle t is p ·
    10000^(-2m/d); a becomes a cos t - b sin t, and b becomes a sin t + b cos t.
    The function is compiled with `jit`.
    Budget: nothing is sent.

    各个位置按 zigzag 的顺序存放，请让每个位置都转过它自己的角度。

    x：f32[T, d]，每个位置一行，沿行切开，即 `P("s")`；d 是偶数，T 能被 2 n 整除。各行按正文里 zigzag
    的顺序存放：序列切成 2 n 段，设备 i 先放下标为 i 的一段，再放下标为 2 n - 1 - i 的一段（i 和段的
    下标都从 0 数起），段内各行保持原来的顺序。
    mesh：n 个设备，只有一个 Auto 轴 "s"；设备 i 指沿这个轴下标为 i 的设备。
    返回 f32[T, d]，顺序和分片方式不变，每一行都按自己在序列里的位置 p（从 0 数起）旋转。对每个从
    0 到 d/2 - 1 的 m，记 a = row[m]，b = row[m + d/2]，角度 t = p · 10000^(-2m/d)；a 换成
    a cos t - b sin t，b 换成 a sin t + b cos t。函数会用 `jit` 编译。
    预算：不发送任何数据。
    """
    # TODO: which positions do the rows of device i have?
    # TODO：设备 i 上的各行，在序列里是哪些位置？
    raise NotImplementedError


def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    """Choose the ring or Ulysses, whichever sends less in the forward pass.

    heads: the number of query heads, a multiple of `groups`.
    groups: the number of key heads, which is also the number of value heads.
    block: the bytes of a device's block of keys, a multiple of n. The block of
    values has the same size; the block of queries is heads / groups times as
    large.
    n: ≥ 2, the number of devices over which the sequence is sharded.
    Returns (name, bytes): "ring" or "ulysses", and the bytes that a device
    sends for it. Ulysses is possible only if n divides `groups`, because no key
    head may be repeated. If both send the same number of bytes, return "ring".

    选出前向计算里发送得少的一种：环，还是 Ulysses。

    heads：查询的头数，是 groups 的倍数。
    groups：键的头数，也是值的头数。
    block：键在一个设备上的那一块有多少字节，是 n 的倍数；值的那一块一样大，查询的那一块是它的
    heads / groups 倍。
    n：≥ 2，序列切到多少个设备上。
    返回 (name, bytes)："ring" 或 "ulysses"，以及一个设备为此发送的字节数。Ulysses 要求 n 整除 groups
    （不把头复制多份）。两者发送得一样多时，选环。
    """
    # TODO: write both formulas first.
    # TODO：先写出两个公式。
    raise NotImplementedError
