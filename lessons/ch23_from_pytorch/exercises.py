"""The exercises of ch23_from_pytorch.

Work on your copy, answers/ch23_from_pytorch.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch23_from_pytorch.py 里作答，本文件保持原样。
"""

import jax  # noqa: F401 (for your answers)
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def from_state_dict(there: dict, tables: set[str]) -> dict:
    """Convert PyTorch's weights for JAX, with layers stacked for `lax.scan`.

    there: a dict from PyTorch's names to NumPy arrays, in any order. A name is,
    for example, "logits.weight" or, for the third layer, "blocks.2.up.weight".
    All layers have arrays with the same names and shapes.
    tables: the names of the nn.Embedding weights. Every other array with two
    dimensions is the weight of an nn.Linear, [out, in].
    Returns a dict. An array outside the layers keeps its name. "blocks" is a
    dict with an entry for each array of a layer ("up.weight"): the arrays of
    all layers, stacked in order along a new first dimension. All Linear
    weights are [in, out], so that the program can compute `x @ w`.

    把 PyTorch 的权重换成 JAX 程序要的样子，各层叠在一起，供 `lax.scan` 使用。

    there：一个字典，值是 NumPy 数组，键是 PyTorch 的名字，例如 "logits.weight"，
    下标为 2 的层则是 "blocks.2.up.weight"；先后次序不定。
    各层的结构相同。
    tables：属于 nn.Embedding 的权重的名字。其他二维数组都是 nn.Linear 的权重，形状是 [out, in]。
    返回一个字典。不在各层里的数组名字不变。"blocks" 是一个字典，层里的每个数组占一个名字（如 "up.weight"），值是所有
    层的这个数组，按层的次序沿新增的一维（下标为 0）叠起来。所有 Linear 的权重
    都变成 [in, out]，这样可以写 `x @ w`。
    """
    # TODO: what does the shape of a square matrix tell you?
    # TODO：方阵的形状能告诉你什么？
    raise NotImplementedError


def multiple(
    check_vma: bool, cast: bool, of: str, then: str, n: int
) -> tuple[float, str]:
    """Say whether a gradient is summed, and what each device gets.

    In `shard_map` over n devices, w has the spec `P()` and the rows have the
    spec `P("data")`, with the same number of rows on each device. The loss is
    the mean over the rows that a device sees. The gradient is taken with
    respect to w.
    check_vma: the argument of `shard_map`.
    cast: whether w is first cast with `lax.pcast(w, "data", to="varying")`.
    `cast` is True only if check_vma is True.
    of: the function whose gradient is taken: "loss", "pmean" (of the loss) or
    "psum" (of the loss).
    then: the operation on the gradient: "nothing", "pmean" or "psum".
    n: the number of devices.
    Returns (m, "all") if every device ends up with m times the right gradient,
    which is the gradient of the mean over the rows of all devices, and
    (m, "own") if each device ends up with m times the gradient of the mean over
    its own rows.

    这个梯度由谁求和，最后得到什么？

    在 n 个设备的 `shard_map` 里，w 以 `P()` 传入，各行以 `P("data")` 传入，每个设备的行数相同。损失是设备所见各行的均值，
    要求的是它对 w 的梯度：
    check_vma：传给 `shard_map` 的值。
    cast：是否先转换 w，即 `lax.pcast(w, "data", to="varying")`。只在 check_vma=True 时出现。
    of：对什么求梯度？"loss"、"pmean"（损失的 pmean）或 "psum"（损失的 psum）。
    then：对梯度再做什么，"nothing"、"pmean" 或 "psum"。
    n：设备数。
    返回 (m, "all") 表示每个设备最后都得到正确梯度的 m 倍，正确梯度是对所有设备的全部行取均值之后的梯度；返回 (m, "own")
    表示每个设备最后得到的是本设备各行均值梯度的 m 倍。
    """
    # TODO: with types, what is the gradient with respect to a value that all
    # devices share?
    # TODO：有类型检查时，一个大家共有的量，它的梯度是什么？
    raise NotImplementedError


def global_batch(
    order: list[int], step: int, processes: int, rows: int, micro: int
) -> np.ndarray:
    """List the rows that a DDP program's processes see together in one step.

    order: the numbers of all rows, shuffled for this epoch; the same in each
    process.
    step: the step of the epoch, counted from 0. The step is complete: every
    process has enough rows for it.
    processes: the number of processes, n. DistributedSampler appends the first
    numbers of `order` until n divides its length, and gives process r every
    n-th number, beginning with the one at index r.
    rows: the number of rows of a microbatch in one process. A DataLoader splits
    the rows of a process into batches of this size, in order.
    micro: the number of microbatches in a step.
    Returns a NumPy array, int[micro, processes * rows]: for each microbatch
    the rows of process 0, then those of process 1, and so on.

    一个 DDP 程序的所有进程在一步里看到的行。

    order：全部行的编号，已按这一轮打乱；每个进程里都相同。
    step：这一轮里的哪一步，从 0 数起；这一步的行是齐全的。
    processes：进程数 n。DistributedSampler 把 order 开头的编号接到末尾，直到长
    度是 n 的倍数，然后进程 r 从下标 r 开始，每 n 个取一个。
    rows：一个进程里一个微批次的行数。DataLoader 按次序把一个进程得到的编号切成这样的批次。
    micro：一步里的微批次数。
    返回 NumPy 数组 int[micro, processes * rows]：每个微批次里先是进程 0 的行，再是进程 1 的行，依此类推。
    """
    # TODO: first find what each process gets, then put the processes side by
    # side.
    # TODO：先求各进程得到什么，再并排放好。
    raise NotImplementedError


def clipped(grads: dict, specs: dict, most: float, mesh: Mesh) -> dict:
    """Clip gradients by their global norm when some of them are sharded.

    grads: a dict of f32 arrays, laid out according to `specs`.
    specs: a dict with a PartitionSpec for each array: `P()`, a copy on every
    device, or `P("data")`, sharded along its first dimension.
    most: the largest norm allowed, more than 0. To get the norm, add up the
    squares of all numbers in all arrays, each number once, and take the square
    root.
    mesh: n devices on one axis, "data".
    Returns the gradients, with the same layouts: unchanged if the norm is at
    most `most`, otherwise all of them multiplied by `most / norm`. The function
    is compiled with `jit`.
    Budget: all-reduces only, of at most 4 bytes for each array.

    按全局范数裁剪梯度，其中一些数组是分片的。

    grads：按名字存放的 f32 数组，布局如 specs 所示。
    specs：每个数组的 PartitionSpec，或者是 `P()`，每个设备上各有一份；或者是 `P("data")`，沿首维切开。
    most：允许的最大范数，大于 0。范数是所有数组里所有数的平方和的平方根，每个
    数只算一次。
    mesh：n 个设备，只有一个轴 "data"。
    返回布局不变的梯度：范数不超过 most 时原样返回，否则全部乘以 most / 范数。函数会用 `jit` 编译。
    预算：只用 all-reduce，每个数组 4 字节。
    """
    # TODO: which squares are on this device only, and which on every device?
    # TODO：哪些平方只有本设备有，哪些每个设备都有？
    raise NotImplementedError


def which_default(
    theirs: list[float], runs: dict[str, list[float]], rounding: float
) -> str:
    """Find the default that differs, given the losses of the first steps.

    theirs: the losses of the other program, step by step, in f64; all are above
    0.
    runs: a dict that maps the name of each run of your program to its losses,
    for the same number of steps. The run "none" is your program as it is. Every
    other run is named after a default that you suspect, and sets it to the
    value that you suspect.
    rounding: the largest relative difference, |yours / theirs - 1|, that
    rounding can cause in any step.
    Returns the name of the run that differs by no more than `rounding` in any
    step, or "" if there is none. There are never two such runs.

    根据前几步的损失，找出不一样的默认值。

    theirs：另一个程序各步的损失，f64，都大于 0。
    runs：你的程序的损失，步数相同。名为 "none" 的一次照原样运行；此外，你怀疑
    的每个默认值各有一次，设为你猜测的值，并以这个默认值的名字为名。
    rounding：舍入在任何一步里能造成的最大相对误差，即 |你的 / 对方的 - 1|。
    返回每一步的相对误差都不超过 rounding 的那一次的名字；没有就返回 ""。不会有
    两个。
    """
    # TODO: is one step enough?
    # TODO：只看一步够吗？
    raise NotImplementedError
