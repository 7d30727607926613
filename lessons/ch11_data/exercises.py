"""The exercises of ch11_data, run by two processes with four devices each; the
first exercise by three processes with two each.
When your function runs, `jax.distributed.initialize` has been called in every process.

Work on your copy, answers/ch11_data.py; this file stays as it is.

本章的练习由两个进程运行，每个进程 4 个设备；练习 1 由三个进程运行，每个进程 2 个设备。你的函数运行时，每个进程
都已经调用过 `jax.distributed.initialize`。

请在你自己的副本 answers/ch11_data.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P  # noqa: F401


def my_part(count: int) -> np.ndarray:
    """Find the examples of a data set that belong to this process.

    count: the number of examples, 0 or more. They are numbered from 0.

    Every example belongs to exactly one process. The first process has the
    first examples, the next process has the examples that follow, and so on.
    The sizes of any two parts differ by at most one; if they differ, the first
    processes have the larger parts. The check uses three processes.
    Returns i64[n], the numbers of this process's examples in ascending order;
    n may be 0.

    找出数据集里属于本进程的样本。

    count：样本总数，可以是 0；样本从 0 开始编号。

    每个样本恰好属于一个进程，0 号进程拿最前面的一段，下一个进程接着拿，依此类推。各段的长
    度最多差 1；有差别时，靠前的进程拿得多。这一题由三个进程运行。
    返回 i64[n]，即本进程的样本编号，从小到大；n 可以是 0。
    """
    # TODO: assign all examples, even if they do not divide evenly.
    # TODO：全部分完，不能整除时也要一个不漏。
    raise NotImplementedError


def equal_steps(
    mine: np.ndarray,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Split this process's rows into batches, the same number in every process.

    mine: f32[rows, columns], this process's own rows. Other processes may have
    different numbers of rows, or none.
    size: the number of rows in one batch.

    The process with the most rows decides how many steps there are: as many as
    it takes to use all of its rows. Fill one batch after the other, and set the
    remaining rows to zero.
    Returns (batches, mask).
    batches: f32[steps, size, columns].
    mask: bool[steps, size], True for a real row.

    把本进程的行切成批次，批次数与其他进程相同。

    mine：f32[rows, columns]，是本进程自己的行。别的进程的行数不同，可能一行也没有。
    size：一个批次的行数。

    步数以行数最多的进程为准，让它的行全部用上。一批填满再填下一批，余下的位置填零。
    返回 (batches, mask)。
    batches：f32[steps, size, columns]。
    mask：bool[steps, size]，有真实行的位置为 True。
    """
    # TODO: how many steps? No process knows that on its own.
    # TODO：一共要多少步？光靠本进程是算不出来的。
    raise NotImplementedError


def mean_loss(w: np.ndarray, mine: np.ndarray, size: int) -> float:
    """Compute the mean squared error over the rows of all processes.

    w: f32[3].
    mine: f32[rows, 4], this process's own rows, each with three inputs and the
    number to predict. The prediction is `inputs @ w`. The number of rows
    differs between processes: some processes may have none, but at least one
    has rows, and no process has more than `size`.
    size: an upper limit on the number of rows of a process; it is a multiple of
    the number of devices of a process.
    Returns a number such as a float, the same in each process. It is the
    squared difference between the prediction and the number to predict,
    averaged over all rows of all processes, as if one process had them all.

    对所有进程的行求均方误差。

    w：f32[3]。
    mine：f32[rows, 4]，是本进程自己的行，每行有三个输入和一个要预测的数；预测值是
    `inputs @ w`。别的进程有别的行，行数也不同，可能一行也没有（合起来至少有一行），但都不
    超过 size。
    size：每个进程行数的上限，是一个进程的设备数的倍数。
    返回一个数（例如 float），每个进程返回的都一样。对实际存在的每一行，求预测
    值与要预测的数之差的平方，再对所有这些行取平均，就像所有的行都在一个进程里
    一样。
    """
    # TODO: pad to `size`, and keep the padding out of the mean.
    # TODO：填充到 size 行，填充的行不能算进平均值。
    raise NotImplementedError


def restore(
    blocks: dict[str, np.ndarray], sharding: NamedSharding
) -> jax.Array:
    """Reassemble an array that was saved by a different number of processes.

    blocks: a dict from names to the pieces of one array, f32[rows, columns]
    each, in no particular order and with different numbers of rows. The name of
    a piece gives its first row: "rows-12" is the piece that starts at row 12.
    Every process has all the pieces.
    sharding: the layout of the restored array over the devices of all
    processes.
    Returns the whole array as one global array with this sharding, which may
    shard the columns, too.

    有一个数组，保存时的进程数与现在不同，把它重新拼起来。

    blocks：这个数组的各个片段，每个是 f32[rows, columns]，顺序不定，行数不一。名字说明片段
    从哪一行开始："rows-12" 从第 12 行开始。每个进程都有全部片段。
    sharding：拼好的数组该用的分片方式，覆盖所有进程的设备。
    返回拼好的整体，是一个全局数组，分片方式如 sharding 所给（也可能按列切开）。
    """
    # TODO: put the pieces in the right order, then make one global array.
    # TODO：先把各片段按正确的顺序拼好，再由所有进程建成一个数组。
    raise NotImplementedError
