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
    """Put together what n devices have computed, each over its own keys.

    values: f32[n, i, d]; for each part and query the sum over the part's keys of
    exp(score - top) times the key's value.
    tops: f32[n, i], the largest score that the query has in this part; -inf where
    the query sees none of its keys.
    totals: f32[n, i], the sum of exp(score - top); 0 where the query sees none.
    Every query sees a key in one of the parts at least. Scores may be ±1,000, and no
    result is nan.
    Returns f32[i, d], the attention over all keys.

    n 个设备各自算完了自己的键，请把它们的结果合并起来。

    values：f32[n, i, d]；对每个部分、每个查询，是该部分各个键的值按 exp(score - top) 加权后的总和，其中 score 是得分。
    tops：f32[n, i]，该查询在这个部分里的最大得分；如果它看不到这个部分的任何键，则为 -inf。
    totals：f32[n, i]，exp(score - top) 的总和；看不到任何键时为 0。
    每个查询至少在一个部分里看得到键。得分可能达到 ±1,000，结果里不能有 nan。
    返回 f32[i, d]，即对所有键的注意力。
    """
    # TODO: bring all parts to one top, then add and divide.
    # TODO：先换算到同一个 top，再相加、相除。
    raise NotImplementedError


def window_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh
) -> jax.Array:
    """Attention to the last few positions only, of a sequence that is cut.

    q, k, v: f32[b, T, h, d], cut with `P(None, "s")`; T is a multiple of n, and d the
    width of a head. A score is the product of query and key over √d.
    window: ≥ 2; the query at position p sees the positions p - window + 1 … p, those
    below 0 left out.
    mesh: with one axis, "s", of size n ≥ 2.
    Returns f32[b, T, h, d], cut like q. The function is compiled with `jit`.
    Budget: collective-permutes only, of blocks of k and v, and no more blocks than
    the window reaches back, (window - 1) / (T / n) rounded up and n - 1 at most; beside
    arguments and result at most room for the scores of 12 pairs of blocks and
    for 24 blocks of k; 1.5 times the products of the solution, which computes one
    pair of blocks in each turn and no more turns than needed.

    序列已经切开，每个位置只看它最近的几个位置。

    q、k、v：f32[b, T, h, d]，按 `P(None, "s")` 分片；T 是 n 的倍数，d 是一个头的宽度。得分是查询与
    键的内积除以 √d。
    window：≥ 2；位置 p 的查询看得到位置 p - window + 1 … p，其中小于 0 的不算。
    mesh：只有一个轴 "s"，大小 n ≥ 2。
    返回 f32[b, T, h, d]，分片方式与 q 相同。函数会用 `jit` 编译。
    预算：只用 collective-permute，只传 k 和 v 的块，块数不超过窗口往前够到的块数，即
    (window - 1) / (T / n) 向上取整，最多 n - 1；除输入和结果以外，最多再用 12 对块的得分加上 24 个 k
    的块所占的内存；乘法量最多是解答的 1.5 倍，解答每一轮只算一对块，轮数也不多于需要。
    """
    # TODO: how many blocks before its own does a device need?
    # TODO：除了自己的块，一个设备还需要前面的几个块？
    raise NotImplementedError


def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    """Ulysses for fewer heads of keys than there are devices.

    q: f32[b, T, h, d], cut with `P(None, "s")`; h and T are multiples of n.
    k, v: f32[b, T, g, d], cut like q; n is a multiple of g, and g < n. The query head
    j uses the head j // (h / g) of k and v.
    mesh: with one axis, "s", of size n.
    Returns f32[b, T, h, d], causal attention, cut like q. The function is compiled with
    `jit`.
    Budget: all-to-alls only; a device sends at most (n-1)/n of the bytes of its block
    of q twice, and of its blocks of k and v n / g times.

    键的头数比设备少时的 Ulysses。

    q：f32[b, T, h, d]，按 `P(None, "s")` 分片；h 和 T 都是 n 的倍数。
    k、v：f32[b, T, g, d]，分片方式与 q 相同；n 是 g 的倍数，而且 g < n。下标为 j 的查询头使用 k 和 v
    中下标为 j // (h / g) 的头。
    mesh：只有一个轴 "s"，大小为 n。
    返回 f32[b, T, h, d]，即因果注意力，分片方式与 q 相同。函数会用 `jit` 编译。
    预算：只用 all-to-all；一个设备最多发送自己那一块 q 的字节数的 2 (n-1)/n，再加上自己那两块 k、v 的
    字节数的 (n-1)/n 的 n / g 倍。
    """
    # TODO: which head of k and v does each device need for its heads of q?
    # TODO：每个设备上的查询头，需要 k 和 v 的哪一个头？
    raise NotImplementedError


def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Rotate each position by its own angle, where positions lie in zigzag order.

    x: f32[T, d], cut with `P("s")`, d even, T a multiple of 2 n. Its rows are in the
    order of the chapter's zigzag: device i has the chunks i and 2 n - 1 - i of 2 n.
    mesh: with one axis, "s", of size n.
    Returns f32[T, d], in the same order and cut alike: of the row at position p of the
    sequence, the numbers x[m] and x[m + d/2], m < d/2, are rotated by the angle
    p · 10000^(-2m/d): the first becomes x[m] cos - x[m + d/2] sin, the second
    x[m] sin + x[m + d/2] cos. The function is compiled with `jit`.
    Budget: nothing is sent.

    各个位置按 zigzag 的顺序存放，请让每个位置都转过它自己的角度。

    x：f32[T, d]，按 `P("s")` 分片，d 是偶数，T 是 2 n 的倍数。各行按正文里 zigzag 的顺序排列：全部
    2 n 段里，设备 i 持有下标为 i 和 2 n - 1 - i 的两段。
    mesh：只有一个轴 "s"，大小为 n。
    返回 f32[T, d]，顺序和分片方式不变：如果某一行在序列里的位置是 p，那么对每个 m < d/2，把 x[m] 和
    x[m + d/2] 转过角度 p · 10000^(-2m/d)，即前者变成 x[m] cos - x[m + d/2] sin，后者变成
    x[m] sin + x[m + d/2] cos。函数会用 `jit` 编译。
    预算：不发送任何数据。
    """
    # TODO: at which positions are the rows of device i?
    # TODO：设备 i 上的各行，在序列里是哪些位置？
    raise NotImplementedError


def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    """Which sends less in the forward pass, the ring or Ulysses?

    heads: heads of queries, a multiple of groups.
    groups: heads of keys, and of values.
    block: bytes of a device's block of keys; that of values has as many, and that of
    queries heads / groups times as many. A multiple of n.
    n: ≥ 2, so many devices the sequence is cut over.
    Returns (name, bytes): "ring" or "ulysses", the bytes that a device sends for it.
    Ulysses needs groups that n divides (nothing is repeated). If both send the same, the
    ring.

    前向计算里，环和 Ulysses 哪一种发送得少？

    heads：查询的头数，是 groups 的倍数。
    groups：键的头数，也是值的头数。
    block：一个设备上键的那一块的字节数，是 n 的倍数；值的那一块一样大，查询的那一块是它的
    heads / groups 倍。
    n：≥ 2，序列切到多少个设备上。
    返回 (name, bytes)："ring" 或 "ulysses"，以及一个设备为此发送的字节数。Ulysses 要求 n 整除 groups
    （不把头复制多份）。两者发送得一样多时，选环。
    """
    # TODO: write both formulas first.
    # TODO：先写出两个公式。
    raise NotImplementedError
