"""The exercises of ch10_processes, run by two processes with four devices each;
Exercise 1 is run by three processes with two devices each.
When your function runs, `jax.distributed.initialize` has been called in every process.

Work on your copy, answers/ch10_processes.py; this file stays as it is.

本章的练习由两个进程运行，每个进程 4 个设备；练习 1 由三个进程运行，每个进程 2 个设备。你的函数运行时，每个进程
都已经调用过 `jax.distributed.initialize`。

请在你自己的副本 answers/ch10_processes.py 里作答，本文件保持原样。
"""

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


def who_am_i() -> dict[str, object]:
    """Report which process this is and which devices it has.

    Returns a dict with four entries:
    - "process": the number of this process, counted from 0;
    - "processes": the number of processes;
    - "mine": a list of the ids of this process's own devices, ascending;
    - "everyone": the number of devices of all processes together.

    查明本进程是哪一个、有哪些设备，以及所有进程一共有多少个设备。

    返回有 4 项的字典：
    - "process" 是本进程的编号，从 0 开始；
    - "processes" 是进程总数；
    - "mine" 是一个列表，列出本进程自己的设备的 id，从小到大；
    - "everyone" 是所有进程的设备总数。
    """
    # TODO: answer four questions with four JAX functions.
    # TODO：4 个问题，4 个 JAX 函数。
    raise NotImplementedError


def global_sum(mine: np.ndarray) -> float:
    """Add up what all processes hold and give every process the total.

    mine: f32[n], this process's own numbers. n is the same in every process and
    a multiple of the number of devices of one process. Each process has
    different numbers.
    Returns the sum of the numbers of all processes, the same in each process.
    It is a number such as a float, not an array on the devices of several
    processes.

    把各个进程持有的数全部加起来，每个进程都要得到总和。

    mine：f32[n]，是本进程自己的数。各进程的 n 相同，且是本进程设备数的倍数，数值则各
    不相同。
    返回所有进程持有的数的总和，每个进程返回的值都一样。返回值是一个数（例如
    float），不是分布在多个进程的设备上的数组。
    """
    # TODO: make one global array from the parts of all processes, and sum it.
    # TODO：把各进程的部分拼成一个全局数组，再对它求和。
    raise NotImplementedError


def print_mean(xs: jax.Array) -> None:
    """Print the mean of a global array once, not once per process.

    xs: f32[n], sharded over the devices of all processes.
    Returns None. Process 0 prints one line: the word `mean`, a space, and the
    mean with four decimals, as in `mean 3.2500`. The other processes print
    nothing.

    打印全局数组的平均值，只打印一次，而不是每个进程一次。

    xs：f32[n]，分布在所有进程的设备上。
    返回 None。0 号进程打印一行：单词 `mean`、一个空格、保留 4 位小数的平均值，格式如
    `mean 3.2500`。其他进程什么也不打印。
    """
    # TODO: which processes must compute, and which must print?
    # TODO：哪些进程必须参与计算，哪个进程打印？
    raise NotImplementedError


def gather_for_all(mine: np.ndarray) -> np.ndarray:
    """Gather every process's rows, in the order of the processes.

    mine: f32[rows, columns], this process's own rows; the shape is the same in
    every process.
    Returns f32[processes * rows, columns], the same in each process: an array
    that the process can read whole, in NumPy or on its own devices.

    让每个进程都拿到所有进程的行，按进程编号排列。

    mine：f32[rows, columns]，是本进程自己的行，各进程的形状相同。
    返回 f32[processes * rows, columns]，每个进程的结果都一样，而且本进程能读出全部内容，可
    以是 NumPy 数组，也可以是只在本进程设备上的数组。
    """
    # TODO: multihost_utils has the function that you need; mind its argument
    # `tiled`.
    # TODO：multihost_utils 里有你要的函数；注意 `tiled`。
    raise NotImplementedError
