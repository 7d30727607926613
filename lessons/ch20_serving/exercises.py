"""The exercises of ch20_serving.

Work on your copy, answers/ch20_serving.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch20_serving.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def attend_cut(
    q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh
) -> jax.Array:
    """Let one token attend to a KV cache that is sharded along the sequence.

    q: f32[b, h, d], the queries of one token in each of b sequences, on every
    device; d is the width of a head. A score is the dot product of a query and
    a key, divided by √d.
    k, v: f32[b, T, h, d], sharded with `P(None, "s")`; T is a multiple of n.
    filled: i32[], 1 … T, the number of filled positions. The later positions
    contain arbitrary numbers and must not be seen. Some devices may have no
    filled position at all. Scores may be as large as ±1,000.
    mesh: a mesh with one axis, "s", of size n.
    Returns f32[b, h, d], the same on every device. The function is compiled
    with `jit`.
    Budget: all-reduces only. Together, they reduce at most as many numbers as
    `q` has, plus two for each sequence and head.

    缓存沿序列切开，求一个词元的注意力。

    q：f32[b, h, d]，b 个序列里各一个词元的查询，每个设备都有；d 是一个头的宽度。得分是查询与键的内积除以 √d。
    k、v：f32[b, T, h, d]，按 `P(None, "s")` 分片；T 是 n 的倍数。
    filled：i32[]，1 … T；从这个位置起还没有写入，其中的数没有意义，不能参与注意力。有的设备可能什么也看
    不见。得分可能达到 ±1,000。
    mesh：只有一个轴 "s"，大小为 n。
    返回 f32[b, h, d]，每个设备都相同。函数会用 `jit` 编译。
    预算：只用 all-reduce，数据是与 q 一样多的字节，再加上每个序列、每个头 2 个数。
    """
    # TODO: which results of a device must be rescaled before the sum?
    # TODO：每个设备算出的部分，求和之前有哪些要先换算？
    raise NotImplementedError


def write_token(
    cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh
) -> jax.Array:
    """Write one token into a KV cache that is sharded along the sequence.

    cache: f32[T, h, d], sharded with `P("s")`; T is a multiple of n.
    new: f32[h, d], on every device.
    at: i32[], 0 ≤ at < T.
    mesh: a mesh with one axis, "s", of size n.
    Returns f32[T, h, d], the cache with `new` at position `at`, sharded the
    same way. The function is compiled with `jit`.
    Budget: nothing is sent.

    缓存沿序列切开，往里写入一个词元。

    cache：f32[T, h, d]，按 `P("s")` 分片；T 是 n 的倍数。
    new：f32[h, d]，每个设备都有。
    at：i32[]，0 ≤ at < T。
    mesh：只有一个轴 "s"，大小为 n。
    返回 f32[T, h, d]，即位置 at 换成 new 之后的缓存，分片方式不变。函数会用 `jit` 编译。
    预算：不发送任何数据。
    """
    # TODO: which device owns this position, and what do the others write?
    # TODO：这个位置归哪个设备？其他设备写什么？
    raise NotImplementedError


def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Compute one layer's attention for one token, with a cache split by heads.

    x: f32[b, D], the vector of one token in each of b sequences, on every
    device.
    w: a dict of weights: "q": f32[D, h, d], "k" and "v": f32[D, g, d], each
    sharded with `P(None, "h")`, and "o": f32[h, d, D], sharded with `P("h")`.
    Query head j uses head j // (h / g) of k and v; g is a multiple of n. A
    score is the dot product of a query and a key, divided by √d.
    k, v: f32[b, T, g, d], sharded with `P(None, None, "h")`; positions below
    `at` are filled.
    at: i32[], 0 ≤ at < T, the token's position.
    mesh: a mesh with one axis, "h", of size n.
    Returns (out, k, v). out: f32[b, D], on every device, the product of the
    attention's result and "o", summed over heads and width. k, v: the cache
    with the token's key and value written at position `at`, sharded as before.
    The token sees itself. The function is compiled with `jit`.
    Budget: one all-reduce of an array as large as `x`.

    缓存按头切开，为一个词元做一层的注意力。

    x：f32[b, D]，b 个序列里各一个词元的向量，每个设备都有。
    w："q" 是 f32[D, h, d]，"k" 和 "v" 是 f32[D, g, d]，都按 `P(None, "h")` 分片；"o" 是 f32[h, d, D]，
    按 `P("h")` 分片。下标为 j 的查询头使用 k 和 v 中下标为 j // (h / g) 的头，g 是 n 的倍数。得分是查询与键的内积除以
    √d。
    k、v：f32[b, T, g, d]，按 `P(None, None, "h")` 分片；at 之前的位置已经写入。
    at：i32[]，0 ≤ at < T，即这个词元的位置。
    mesh：只有一个轴 "h"，大小为 n。
    返回 (out, k, v)：out 是 f32[b, D]，每个设备都有，即注意力的结果乘以 "o"，再对头和宽度求和；k、v 是在位置 at
    写入这个词元之后的缓存，分片方式不变。词元看得到它自己。函数会用 `jit` 编译。
    预算：一次 all-reduce，大小与 x 相同。
    """
    # TODO: write first, then attend; what is summed over the devices?
    # TODO：先写入，再做注意力。哪个结果要在设备之间求和？
    raise NotImplementedError


def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    """Let one token attend to an int8 KV cache.

    q: f32[h, d], the token's queries. Query head j uses head j // (h / g) of k
    and v. A score is the dot product of a query and a key, divided by √d.
    k, v: i8[T, g, d], all filled; head by head, the key at position t is `k[t]`
    times `k_scale[t]`, and the value is `v[t]` times `v_scale[t]`.
    k_scale, v_scale: f32[T, g].
    Returns f32[h, d].

    缓存是 int8，求一个词元的注意力。

    q：f32[h, d]，这个词元的查询。下标为 j 的头使用 k 和 v 中下标为 j // (h / g) 的头。得分是查询与键的内积
    除以 √d。
    k、v：i8[T, g, d]，已经写满；位置 t 的键是 `k[t]` 逐头乘以 `k_scale[t]`，值是 `v[t]` 逐头乘以 `v_scale[t]`。
    k_scale、v_scale：f32[T, g]。
    返回 f32[h, d]。
    """
    # TODO: what does each of the two scales multiply?
    # TODO：两组缩放系数各乘在什么上面？
    raise NotImplementedError


def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    """Compute the bytes that a device reads for one token of each sequence.

    weights: the number of bytes of all weights; every device has 1/n of them.
    position: the number of bytes that one position of one sequence takes in the
    cache, for all heads and layers.
    heads: the number of key heads in the cache. They are split into g groups of
    equal size, where g is the greatest common divisor of heads and n.
    batch, length: the number of sequences, and the number of positions in the
    cache for each.
    n: the number of devices.
    rest: how the n / g devices that share a group of heads store the cache of
    these heads: "copies" (each device has a whole copy), "batch" or "sequence"
    (the cache is split over the devices along this dimension).
    Returns the number of bytes that a device reads in one step: its weights and
    its cache, each once. All divisions come out even.

    算出每个序列生成一个词元时，一个设备要读多少字节。

    weights：全部权重的字节数，每个设备持有 1/n。
    position：一个序列的一个位置在缓存里占的字节数，所有头、所有层都算在内。
    heads：缓存里键的头数。头均匀地切到尽可能多的设备上，份数是 heads 和 n 的最大公约数。
    batch、length：序列的个数，以及每个序列在缓存里的位置数。
    n：设备数。
    rest：剩下的设备怎么用。"copies" 表示各存一份自己那些头的完整副本，"batch" 或 "sequence" 表示把这些头的缓存
    再切到它们上面。
    返回一个设备在一步里读取的字节数，权重和缓存各读一遍。所有除法都除得尽。
    """
    # TODO: into how many different parts is the cache split?
    # TODO：缓存一共切成了多少个互不相同的部分？
    raise NotImplementedError
