"""The exercises of ch21_experts.

Work on your copy, answers/ch21_experts.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch21_experts.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def queue(who: jax.Array, experts: int) -> jax.Array:
    """How many stand before each choice in the queue of its expert?

    who: i32[T, k], the experts that each token has chosen, from 0 to experts - 1; a
    token's k are different.
    experts: how many there are, E.
    In a queue all tokens' first choices (column 0) come before all second ones, and so
    on; of the same column the earlier token is before the later one.
    Returns i32[T, k], counted from 0. The function is compiled with `jit`.
    Budget: 64 bytes of memory beside for each choice and for each expert. An array of
    T·k·E numbers is too much.

    每次选择在对应专家的队列里排在第几位？

    who：i32[T, k]，每个词元选择的专家，编号从 0 到 experts - 1；同一个词元的 k 个互不相同。
    experts：专家的个数 E。
    在一个队列里，所有词元的第一选择（下标为 0 的列）都排在所有第二选择前面，依此类推；同一列里，靠前的词元排在靠后的前面。
    返回 i32[T, k]，从 0 数起。函数会用 `jit` 编译。
    预算：每次选择、每个专家各 64 字节的额外内存。T·k·E 个数的数组就太大了。
    """
    # TODO: what does a stable sort bring side by side?
    # TODO：稳定的排序会把什么排到一起？
    raise NotImplementedError


def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    """A layer of experts: there, back, and the residual.

    x: f32[T, d], the tokens, cut with `P("e")`; each device has T/n of them.
    gate, who: f32[T, k] and i32[T, k], cut alike; how much of which expert's answer each
    token takes. The gates are ready to use. k is 2.
    w: f32[E, d, d], cut with `P("e")`; the answer of expert i to a token t is t @ w[i].
    capacity: places that one device has at one expert, C. Of each device's own tokens
    the first C in the queue of an expert get its answer; all first choices (column 0)
    come before all second ones, of the same column the earlier token before the later.
    mesh: with one axis, "e", of size n, of which E is a multiple.
    Returns f32[T, d], cut alike: each token plus its answers times their gates. A choice
    that finds no place adds nothing. The function is compiled with `jit`.
    Budget: all-to-alls only, twice E·C·d numbers.

    一层专家：送过去，送回来，再加上残差。

    x：f32[T, d]，词元，按 `P("e")` 分片，每个设备有 T/n 个。
    gate、who：f32[T, k] 和 i32[T, k]，分片方式相同，表示每个词元按多少比例采用哪个专家的回答。门控值可以直接使用。k 为 2。
    w：f32[E, d, d]，按 `P("e")` 分片；专家 i 对词元 t 的回答是 t @ w[i]。
    capacity：一个设备在一个专家那里的位置数 C。每个设备只排自己的词元，各专家队列里的前 C 个得到回答；所有第一选择
    （下标为 0 的列）都排在所有第二选择前面，同一列里，靠前的词元排在靠后的前面。
    mesh：只有一个轴 "e"，大小为 n，E 是 n 的倍数。
    返回 f32[T, d]，分片方式相同，即每个词元加上它得到的各个回答乘以门控值。没有位置的选择什么也不加。函数会用
    `jit` 编译。
    预算：只用 all-to-all，两次，每次 E·C·d 个数。
    """
    # TODO: which axis is split on the way there, and which on the way back?
    # TODO：去的时候切哪一维？回来的时候呢？
    raise NotImplementedError


def balance_loss(p: jax.Array, who: jax.Array, mesh: Mesh) -> jax.Array:
    """The balance loss of the whole batch: E Σ f P.

    p: f32[T, E], what the router says of each token, rows that sum to 1, cut with
    `P("e")`.
    who: i32[T, k], the experts chosen, cut alike.
    mesh: with one axis, "e", of size n.
    Returns f32[], the same on every device: E times the sum over experts of f[i]·P[i].
    f[i] is the share of expert i in all T·k choices, P[i] the mean of p[:, i] over all
    T tokens. The function is compiled with `jit`.
    Budget: all-reduces only, of 2·E numbers.

    整个批次的均衡损失 E Σ f P。

    p：f32[T, E]，路由器给每个词元的概率，每行之和为 1，按 `P("e")` 分片。
    who：i32[T, k]，选中的专家，分片方式相同。
    mesh：只有一个轴 "e"，大小为 n。
    返回 f32[]，每个设备都相同，即 f[i]·P[i] 对专家求和，再乘以 E。f[i] 是专家 i 在全部 T·k 次选择里所占的比例，
    P[i] 是 p[:, i] 对全部 T 个词元的均值。函数会用 `jit` 编译。
    预算：只用 all-reduce，2·E 个数。
    """
    # TODO: what is averaged over the devices: the loss, or what it is made of?
    # TODO：在设备之间取平均的，是损失本身，还是用来算损失的量？
    raise NotImplementedError


def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    """The smallest capacity that drops few enough.

    who: an array of NumPy, int[T, k]: the experts that each token has chosen.
    experts, devices: how many there are. The first T/devices tokens are on the first
    device, and so on; each device has its own queue for each expert.
    most: the largest share of all T·k choices that may be dropped, such as 0.01.
    Returns the smallest number of places, of one device at one expert, with which at
    most this share is dropped; at least 1.

    丢得足够少的最小容量。

    who：NumPy 数组 int[T, k]，每个词元选择的专家。
    experts、devices：专家的个数和设备数。前 T/devices 个词元在第一个设备上，依此类推；每个设备对每个专家有自己的
    队列。
    most：全部 T·k 次选择里最多可以丢弃的比例，例如 0.01。
    返回一个设备在一个专家那里最少要有几个位置，才能使丢弃的比例不超过 most；至少为 1。
    """
    # TODO: how many are dropped with C places, if a queue has n?
    # TODO：队列长为 n，只有 C 个位置时，要丢弃几个？
    raise NotImplementedError


def ragged_offsets(
    sent: list[list[int]], me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    """The four arguments of `lax.ragged_all_to_all` on one device.

    sent: sent[i][j] is how many rows device i sends to device j; n lists of n numbers.
    me: the device whose arguments are wanted.
    Every device has its rows in the order of their receivers. What it receives is to lie
    in the order of the senders, without gaps.
    Returns (input_offsets, send_sizes, output_offsets, recv_sizes), lists of n numbers:
    for each device j where the rows for j begin in my operand, how many go to j, where
    they begin in the output of j, and how many come from j.

    `lax.ragged_all_to_all` 在一个设备上的 4 个参数。

    sent：sent[i][j] 是设备 i 送给设备 j 的行数，一共 n 个列表，每个有 n 个数。
    me：要求的是这个设备的参数。
    每个设备上，要送的行按接收者的顺序排列；收到的行要按发送者的顺序紧挨着放。
    返回 (input_offsets, send_sizes, output_offsets, recv_sizes)，都是 n 个数的列表。对于每个设备 j，它们依次是：送给 j
    的行在我的操作数里从哪里开始，有多少行送给 j，这些行在 j 的输出里从哪里开始，有多少行从 j 送来。
    """
    # TODO: whose rows lie before mine at the receiver?
    # TODO：在接收者那里，谁的行排在我的前面？
    raise NotImplementedError
