"""The exercises of ch22_stages.

Work on your copy, answers/ch22_stages.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch22_stages.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def one_f_one_b(stages: int, microbatches: int) -> list[list[str]]:
    """Build the 1F1B table from a rule, without lists of operations.

    stages, microbatches: the number of each, S and M.

    In each tick, every stage does at most one operation, and everything that it
    needs was done in an earlier tick. The forward of microbatch m on stage s
    needs the forward on stage s - 1, if there is one. Its backward needs its
    forward on stage s, and the backward on stage s + 1, if there is one. Each
    stage takes the microbatches in their order. It does a backward if it can;
    otherwise it does a forward if, at that moment, it keeps fewer than S - s
    inputs. (A stage keeps each input from its forward to its backward.)
    Returns the table: a list for each tick, with a string for each stage, such
    as "F2" or "B0", or "" if it does nothing; the table ends with the last
    backward of stage 0.

    不写列表，按规则得到 1F1B 的表。

    stages、microbatches：阶段数 S 和微批次数 M。

    在每一拍里，每个阶段最多做一件事，而且它需要的都已在更早的拍做完。微批次 m 在阶段 s 上的前向，需要它在阶段 s - 1
    上的前向（如果有这个阶段）；它的反向，需要它在本阶段的前向，以及在阶段 s + 1 上的反向（如果有这个阶段）。
    每个阶段都按顺序处理微批次，能做反向就做反向，否则做前向，但前提是保留的输入少于 S - s 个。一个输入从前向保留到反向。
    返回这张表：每拍一个列表，其中每个阶段一个字符串，例如 "F2"、"B0"，什么也不做就是 ""；到阶段 0 的最后一次
    反向为止。
    """
    # TODO: what does a stage have to know about the ticks before?
    # TODO：一个阶段要知道前面几拍的哪些事？
    raise NotImplementedError


def slots(rows: list[list[str]]) -> list[list[int]]:
    """Find the buffer slot in which each stage keeps each input.

    rows: the table of any schedule. rows[tick][stage] is "F" or "B" followed by
    the number of a microbatch, such as "F2", or "" if the stage does nothing.

    A stage stores the input of microbatch m in the tick of its "F", in the free
    slot with the lowest number. The input is read for the last time in the tick
    of its "B"; from the next tick on, the slot is free.
    Returns a list for each stage, with the slot of each microbatch in order.
    Slots are counted from 0.

    每个阶段把哪个输入放进缓冲区的哪个槽位？

    rows：任何一种调度的表。rows[拍][阶段] 是 "F" 或 "B" 加上微批次的编号，例如 "F2"；阶段什么也不做时是 ""。

    微批次 m 的输入在做 "F" 的那一拍放进编号最小的空槽位，在做 "B" 的那一拍最后一次读取，从下一拍起，这个槽位空出来。
    返回每个阶段一个列表，依次是各个微批次的槽位，从 0 数起。
    """
    # TODO: which slots are free when an input arrives?
    # TODO：输入到来的时候，哪些槽位是空的？
    raise NotImplementedError


def one_step(
    orders: list[list[str]],
    w: list[jax.Array],
    x: jax.Array,
    y: jax.Array,
    rate: float,
) -> tuple[list[jax.Array], list[int]]:
    """Run a training step in which each stage follows its own list.

    orders: orders[s] lists what stage s does, in order, as strings such as "F0"
    and "B0". A stage does the next item of its list when its neighbour has sent
    what the item needs.
    w: w[s], f32[d, d], the weights of stage s. For an input a, the stage
    computes tanh(a @ w[s]).
    x, y: f32[M, rows, d], the microbatches, and the targets for the last
    stage's output.
    rate: the learning rate. The new weights are `w - rate * gradient`; the loss
    is the mean of (out - y)² over all M microbatches.
    Returns (weights, most), two lists with an entry for each stage: its new
    weights, and the largest number of inputs that it kept at once. A stage
    keeps the input of a microbatch from that microbatch's forward until the
    end of its backward.

    按列表逐个阶段训练一步。

    orders：orders[s] 是阶段 s 按顺序要做的事，例如 "F0"、"B0"。需要的东西从邻居那里来了，阶段才做列表里的下一件。
    w：w[s]，f32[d, d]，阶段 s 的权重；它计算 tanh(a @ w[s])。
    x、y：f32[M, rows, d]，各个微批次，以及最后一个阶段应得的结果。
    rate：更新一步是 w - rate * 梯度，损失是 (out - y)² 对全部 M 个微批次的均值。
    返回新的权重（列表），以及每个阶段最多保留过几个输入。一个输入从微批次的前向保留到它的反向，做反向时也算在内。
    """
    # TODO: what does a stage keep until the backward of a microbatch?
    # TODO：在微批次的反向到来之前，阶段要保留什么？
    raise NotImplementedError


def pipelined(
    w: dict[str, jax.Array],
    head: jax.Array,
    x: jax.Array,
    y: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, dict[str, jax.Array], jax.Array]:
    """Compute the loss and its gradients through a pipeline.

    w: a dict with "up", f32[n, d, h], and "down", f32[n, h, d], sharded with
    `P("stage")`. Each stage has one layer, `a + tanh(a @ up) @ down`.
    head: f32[d, k], a copy on every device; the loss of a microbatch is the
    mean of `(a @ head - y) ** 2`.
    x, y: f32[M, rows, d] and f32[M, rows, k], M microbatches, a copy on every
    device.
    mesh: a mesh with one Auto axis, "stage", of size n.
    Returns the mean of the M losses, f32[]; its gradient with respect to w,
    sharded the same way as w; and its gradient with respect to `head`, a copy
    on every device. The function is compiled with `jit`.
    Budget: M + n - 1 permutes of a microbatch's activations forward and the
    same number back, one all-reduce of the gradient of `head`, and one of the
    loss. Keep in memory only the input of each tick.

    让损失和梯度都通过流水线。

    w："up" f32[n, d, h] 和 "down" f32[n, h, d]，按 `P("stage")` 分片，即每个阶段一层，计算 `a + tanh(a @ up) @ down`。
    head：f32[d, k]，每个设备一份；一个微批次的损失是 (a @ head - y)² 的均值。
    x、y：f32[M, rows, d] 和 f32[M, rows, k]，共 M 个微批次，每个设备一份。
    mesh：只有一个 Auto 轴 "stage"，大小为 n。
    返回 M 个损失的均值 f32[]，它对 w 的梯度（分片方式相同），以及对 head 的梯度（每个设备一份）。函数会用 `jit` 编译。
    预算：前向做 M + n - 1 次激活值的置换，反向同样多，每次传一个微批次；head 和损失的 all-reduce 各一次。内存里，每拍只保留
    它的输入。
    """
    # TODO: write the forward ticks, and let jax.value_and_grad reverse them.
    # TODO：写出前向的每一拍，再由 jax.value_and_grad 反过来执行
    raise NotImplementedError


def shared_gradient(g: jax.Array, mesh: Mesh) -> jax.Array:
    """Add the two gradients of the table that the embedding and the head share.

    g: f32[n, V, d], sharded with `P("stage")`. On the first device it is the
    gradient from the embedding, on the last the gradient from the head. The
    other devices hold arbitrary numbers.
    mesh: a mesh with one axis, "stage", of size n ≥ 2.
    Returns f32[n, V, d], sharded the same way: the sum of both gradients on the
    first and on the last device, zeros on the others. The function is compiled
    with `jit`.
    Budget: at most two collective-permutes, each of one table, and no other
    collective.

    词嵌入和输出层共用一张表，把它的两份梯度加起来。

    g：f32[n, V, d]，按 `P("stage")` 分片。第一个设备上是词嵌入的梯度，最后一个设备上是输出层的梯度，其他设备上的没有意义。
    mesh：只有一个轴 "stage"，大小为 n ≥ 2。
    返回 f32[n, V, d]，分片方式相同：第一个和最后一个设备上是两者的总和，其他设备上是 0。函数会用 `jit` 编译。
    预算：只用 collective-permute，最多 2 次，每次一张表。
    """
    # TODO: which device sends what to which?
    # TODO：哪个设备把什么发给哪个设备？
    raise NotImplementedError


def bytes_across(
    hosts: list[int], chunks: int, microbatches: int, message: int
) -> list[list[int]]:
    """Count the bytes that pipeline stages send from host to host in a step.

    hosts: hosts[s] is the host of stage s; there are S stages. Hosts are
    numbered from 0; each has at least one stage.
    chunks: the number of parts of the model on each stage, v; stage s has parts
    s, s + S and so on.
    microbatches, message: the number of microbatches, and the bytes of the
    activations of one microbatch; their gradient has the same size. Each
    microbatch goes forward from part to part, and its gradient back; nothing
    else is sent.
    Returns sent, where sent[i][j] is the number of bytes that host i sends to
    host j; sent[i][i] is 0.

    一步训练里，各阶段在主机之间发送多少字节？

    hosts：hosts[s] 是阶段 s 所在的主机；共 S 个阶段。主机从 0 开始编号，每台都有阶段。
    chunks：每个阶段有模型的几部分，记作 v；阶段 s 有下标为 s、s + S、… 的部分。
    microbatches、message：微批次数，以及一个微批次的激活值的字节数，梯度也是这么多。每个微批次前向逐部分传下去，
    它的梯度再逐部分传回来，此外什么也不发送。
    返回 sent，其中 sent[i][j] 是主机 i 发给主机 j 的字节数；sent[i][i] 为 0。
    """
    # TODO: which boundaries between parts are between two hosts, and in which
    # direction?
    # TODO：哪些部分之间的边界落在两台主机之间？方向如何？
    raise NotImplementedError
