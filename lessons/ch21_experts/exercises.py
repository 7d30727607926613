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


def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    """Find each choice's place in its expert's queue, largest gates first.

    who: i32[T, k], the experts that each token has chosen, from 0 to
    `experts - 1`; a token's k experts are different.
    gate: f32[T, k], the gates of these choices, all positive.
    experts: the number of experts, E; some may not be chosen by any token.

    In an expert's queue a choice with a larger gate comes before one with a
    smaller gate, whatever their tokens and columns are. Ties: the earlier
    column first, then the earlier token.
    Returns i32[T, k]: how many choices come before each choice, so places start
    at 0. The function is compiled with `jit`.
    Budget: 64·(T·k + E) bytes in addition to the arguments and the result. An
    array of T·k·E numbers would be too large.

    门控值大的排在前面时，每个选择前面有几个？

    who：i32[T, k]，每个词元选择的专家，编号从 0 到 experts - 1；同一个词元的 k 个互不相同。
    gate：f32[T, k]，这些选择的门控值，都是正数。
    experts：专家的个数 E，其中有的可能没有词元选。

    在一个专家的队列里，门控值大的选择排在门控值小的前面，不管它们属于哪个词元、哪一列。门控值相等时，靠前的列排在前面；
    同一列里，靠前的词元排在前面。
    返回 i32[T, k]，从 0 数起。函数会用 `jit` 编译。
    预算：除参数和结果以外，64·(T·k + E) 字节内存。T·k·E 个数的数组就太大了。
    """
    # TODO: by which key do you sort first, and by which last?
    # TODO：先按什么排序，后按什么排序？
    raise NotImplementedError


def moe(
    x: jax.Array,
    gate: jax.Array,
    who: jax.Array,
    w: jax.Array,
    capacity: int,
    mesh: Mesh,
) -> jax.Array:
    """Run an MoE layer: dispatch the tokens and add the experts' answers.

    x: f32[T, d], the tokens, sharded with `P("e")`; each of n devices has T/n
    of them.
    gate, who: f32[T, 2] and i32[T, 2], sharded the same way. `who` has the two
    experts that each token has chosen; `gate` has the numbers by which their
    answers are multiplied, without further normalisation.
    w: f32[E, d, d], sharded with `P("e")`; the answer of expert i to a token t
    is `t @ w[i]`.
    capacity: C, the number of places that each device has at each expert. Each
    device queues its own choices as in the exercise `queue`, the largest gates
    first; the first C choices in the queue of an expert get its answer.
    mesh: a mesh with one Auto axis, "e", whose size n divides T and E.
    Returns f32[T, d], sharded the same way. Each row is a token plus its
    answers, each answer multiplied by its gate. A choice that finds no place
    adds nothing, and the gate of the token's other choice stays as it is. The
    function is compiled with `jit`.
    Budget: two all-to-alls, each of E·C·d numbers per device; nothing else is
    sent.

    一层专家：把词元送过去，把回答送回来，再与词元本身相加。

    x：f32[T, d]，词元，按 `P("e")` 分片，n 个设备各有 T/n 个。
    gate、who：f32[T, 2] 和 i32[T, 2]，分片方式相同；who 是每个词元选择的 2 个
    专家，gate 是这些专家的回答要乘的门控值，可以直接使用。
    w：f32[E, d, d]，按 `P("e")` 分片；专家 i 对词元 t 的回答是 `t @ w[i]`。
    capacity：一个设备在一个专家那里的位置数 C。每个设备只给自己的选择排队，排
    法与练习 `queue` 相同，门控值大的在前；每个专家的队列里，前 C 个选择得到这
    个专家的回答。
    mesh：只有一个轴 "e"，是 Auto 轴，大小为 n，T 和 E 都是 n 的倍数。
    返回 f32[T, d]，分片方式相同，每一行是一个词元加上各个回答与相应门控值的乘
    积。没有位置的选择什么也不加，同一词元另一个选择的门控值
    不变。函数会用 `jit` 编译。
    预算：两次 all-to-all，每个设备每次 E·C·d 个数，此外什么也不发送。
    """
    # TODO: which dimension is joined on the way there, and which is split on the way back?
    # TODO：去的时候拼接哪一维？回来的时候切开哪一维？
    raise NotImplementedError


def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    """Compute the load-balancing loss E Σ f P of a batch with padding.

    p: f32[T, E], sharded with `P("e")`; each row has the router's probabilities
    for one token, which sum to 1.
    who: i32[T, k], the experts that each token has chosen, sharded the same
    way.
    real: bool[T], sharded the same way; False for padding, which does not count
    in any way. The devices have different numbers of real tokens, and some may
    have none; at least one token of the batch is real.
    mesh: a mesh with one Auto axis, "e", whose size n divides T.
    Returns f32[], the same on every device: E times the sum of `f[i] * P[i]`
    over the experts. `f[i]` is the share of expert i in all choices of real
    tokens, and `P[i]` is the mean of `p[:, i]` over all real tokens. The
    function is compiled with `jit`.
    Budget: all-reduces only, one or several, of at most 2·E + 2 numbers in all.

    有填充的批次的均衡损失，即真实词元的 E Σ f P。

    p：f32[T, E]，路由器给每个词元的概率，每行之和为 1，按 `P("e")` 分片。
    who：i32[T, k]，选中的专家，分片方式相同。
    real：bool[T]，分片方式相同；填充是 False，完全不计。各设备上真实词元的个数不同，有的设备可能一个也没有；整个批次里至少有一个真实
    词元。
    mesh：只有一个轴 "e"，是 Auto 轴，大小为 n，T 是 n 的倍数。
    返回 f32[]，每个设备都相同，即 `f[i] * P[i]` 对专家求和，再乘以 E。f[i] 是专家 i 在真实词元的全部选择里所占的比例，`P[i]` 是
    p[:, i] 对全部真实词元的平均值。函数会用 `jit` 编译。
    预算：只用 all-reduce，一次或几次，总共最多 2·E + 2 个数。
    """
    # TODO: what can you add over devices with different numbers of tokens?
    # TODO：各设备的词元数不同，什么量可以在设备之间相加？
    raise NotImplementedError


def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    """Find the smallest capacity that drops few enough choices.

    who: a NumPy array, int[T, k]: the experts that each token has chosen.
    experts, devices: the number of each; `devices` divides T. The first
    T/devices tokens are on the first device, and so on; each device has its own
    queue at each expert.
    most: the largest share of all T·k choices that may be dropped, such as
    0.01; a capacity that drops exactly this share is allowed.
    Returns the smallest number of places that a device needs at each expert so
    that at most this share is dropped; at least 1. A NumPy integer is accepted.

    求最小的容量，使丢弃的比例不超过上限。

    who：NumPy 数组 int[T, k]，每个词元选择的专家。
    experts、devices：专家的个数和设备数，T 是设备数的倍数。前 T/devices 个词元在第一个设备上，依此类推；每个设备在每个专家那里
    各有自己的队列。
    most：全部 T·k 次选择里最多可以丢弃的比例，例如 0.01；正好丢弃这个比例也可以。
    返回一个设备在一个专家那里最少要有几个位置，才能使丢弃的比例不超过 most；至少为 1。NumPy 的整数也可以。
    """
    # TODO: how many are dropped with C places, if a queue has n?
    # TODO：队列长为 n，只有 C 个位置时，要丢弃几个？
    raise NotImplementedError


def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Compute the lists for `lax.ragged_all_to_all` when a device may fill up.

    sent: sent[i][j] is the number of rows that device i has for device j; n
    lists of n numbers.
    bound: the number of rows that a device can take.
    me: the number of the device whose lists you compute.

    The operand of each device contains the rows that it has for all n devices,
    in the order of the receivers. A receiver stores the rows in the order of
    the senders, without gaps. Once it has `bound` rows it is full: from the
    sender that fills it, only the first rows that fit are sent, and from later
    senders none.
    Returns (input_offsets, send_sizes, output_offsets, recv_sizes), lists of n
    numbers. For each device j, they say, in this order: where the rows for j
    begin in the operand of `me`, how many of them are sent to j, where they
    begin in the output of j, and how many rows come from j. If j is full before
    the turn of `me`, the rows for j begin at `bound` in its output.

    写出设备可能放满时 `lax.ragged_all_to_all` 的 4 个列表。

    sent：sent[i][j] 是设备 i 要送给设备 j 的行数，一共 n 个列表，每个有 n 个数。
    bound：一个设备能收下的行数。
    me：设备的编号，要写出的就是它的 4 个列表。

    每个设备的操作数里有它的全部行，按接收者的顺序排列。接收者收下的行按发送者
    的顺序紧挨着放，收满 `bound` 行为止：轮到哪个发送者时放满，这个发送者就只发
    送接收者还放得下的前几行，后面的发送者一行也不发送。
    返回 (input_offsets, send_sizes, output_offsets, recv_sizes)，都是 n 个数的列表。对每个设备 j，它们依次是：送给 j 的行在
    `me` 的操作数里从哪里开始，实际发送多少行给 j，这些行在 j 的输出里从哪里开始，从 j 收到多少行。如果轮到 `me` 之前 j 已经放满，
    起点就是 `bound`。
    """
    # TODO: which rows are before those of `me` at the receiver, and how many of
    # them fit?
    # TODO：在接收者那里，哪些发送者的行排在 `me` 的前面？放得下多少？
    raise NotImplementedError
