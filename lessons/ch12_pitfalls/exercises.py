"""ch12_pitfalls: four programs that hang or return wrong results, each run by two
processes, and two that read the records of processes that hang. Nothing is blank here:
each function runs but is wrong as it stands. Repair it.

Work on your copy, answers/ch12_pitfalls.py; this file stays as it is.

前 4 个程序不是卡住，就是悄悄给出错误的结果，每个都由两个进程运行；后两个要读卡住的进程留下的
记录。这里没有空白：每个函数都能运行，但都是错的。请把它们修好。

请在你自己的副本 answers/ch12_pitfalls.py 里修改，本文件保持原样。
"""

import jax  # noqa: F401 (for your answers)
import numpy as np
from jax.experimental import multihost_utils


def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Add up each parameter's gradient over all processes.

    mine: a dict from name to f32[n], this process's gradients. Names and shapes
    are the same in every process; the order of the names in the dict is not.
    Returns a dict from name to f32[n], the sum over the processes, the same in
    each.

    把每个参数的梯度在所有进程之间加起来。

    mine：“名称 -> f32[n]”，是本进程的梯度。各进程的名称和形状都相同，在字典里的先后顺序
    却不同。
    返回“名称 -> f32[n]”，即每个参数的梯度在所有进程上的总和，每个进程得到的结
    果都一样。
    """
    # TODO: as written, one parameter gets the sum of another.
    # TODO：现在的写法会让一个参数得到另一个参数的总和。
    sums = {}
    for name in mine:
        everyone = multihost_utils.process_allgather(mine[name])
        sums[name] = everyone.sum(axis=0)
    return sums


def padded_sum(mine: np.ndarray) -> np.ndarray:
    """Add up the rows of all processes, zero-padded to the longest row.

    mine: f32[rows, n], this process's rows. `rows` is the same in every
    process, but n is not: each process has padded its rows to its own longest
    example.
    Returns f32[longest], the sum of all rows, the same in each process.
    `longest` is the largest n of all processes.

    把所有进程的行加起来，短的行先用零补到与最长的行一样长。

    mine：f32[rows, n]，是本进程的行。各进程的 rows 相同，n 却不同，因为各进程
    只填充到自己最长样本的长度。
    返回 f32[longest]，即所有行的总和，长度是所有进程中最大的 n，每个进程得到的结果都一样。
    """
    # TODO: as written, the processes contribute arrays of different widths.
    # TODO：现在的写法里，各进程交出的数组宽度不同。
    everyone = multihost_utils.process_allgather(mine.sum(axis=0))
    return everyone.sum(axis=0)


def mean_of_batches(batches: list[np.ndarray]) -> float:
    """Compute the mean of all numbers in all batches of all processes.

    batches: a list of f32[n], this process's own batches. Every batch has n
    numbers, but one process may have fewer batches than another, or none. There
    is at least one batch in all.
    Returns the mean as a number such as a float, the same in each process.

    求所有进程、所有批次里全部数的平均值。

    batches：由 f32[n] 组成的列表，是本进程自己的批次。每个批次都有 n 个数，但
    各进程的批次数可能不同，有的进程可能一个批次也没有。所有进程合起来至少有一
    个批次。
    返回平均值，是一个数（例如 float），每个进程得到的结果都一样。
    """
    # TODO: as written, the process with more batches waits for the other
    # forever.
    # TODO：现在的写法里，批次多的进程会等不到对方。
    total, count = 0.0, 0
    for batch in batches:
        everyone = multihost_utils.process_allgather(batch)
        total += float(everyone.sum())
        count += everyone.size
    return total / count


def steps_until_good(losses: np.ndarray, goal: float) -> int:
    """Train until the mean of the processes' losses is below `goal`.

    losses: f32[steps], this process's loss after each step. `steps` is the same
    in every process, but the losses differ.
    goal: a number, the same in every process.
    Returns the number of steps taken, up to and including the first step after
    which the mean loss of all processes is below `goal`. If there is no such
    step, all steps are taken. The number is the same in each process.

    一直训练到各进程损失的平均值低于 goal 为止。

    losses：f32[steps]，是本进程每一步之后的损失。各进程的 steps 相同，数值不同。
    goal：一个数，每个进程都一样。
    返回所走的步数，走到平均损失第一次低于 goal 的那一步为止（包括这一步）；如
    果平均损失始终没有低于 goal，就走完所有的步。每个进程得到的结果都一样。
    """
    # TODO: as written, each process decides by its own loss.
    # TODO：现在的写法里，每个进程只看自己的损失来决定。
    for step, loss in enumerate(losses, 1):
        # Stands for the training step.
        # 下面的调用代表训练的一步。
        multihost_utils.process_allgather(np.float32(loss))
        if loss < goal:
            return step
    return len(losses)


def first_apart(calls: list[list[tuple[str, int]]]) -> tuple[int, int]:
    """Find the first call in which one process differs from the others.

    calls: a list of calls for each process, four processes or more. A call is
    (name, line), and its name contains the number of the step. Each list is in
    the order in which its process made the calls; it stops where the process
    got stuck or ended.

    Two calls are the same if name and line are the same. The lists need not end
    at the same call, and some may end before the first difference; at the first
    difference, at least three lists still have a call. All processes but one
    are right and so make the same calls.
    Returns (process, line): the process whose call first differs from the calls
    of the others, and the line of that call. (If that process left out a call,
    the fault is before this line.)

    找出各进程从哪里开始不一致：哪一个进程请求的调用与其他进程请求的不同，又是在
    哪一行代码里请求的。

    calls：每个进程有一个列表，进程至少有 4 个；列表按先后记下这个进程请求的调
    用，每次调用记成一个元组（名称，行号），名称里带着步数。每个列表到所属进程卡
    住或结束的地方为止。

    名称和行号都相同，才算同一个调用。各列表不一定停在同一次调用，有的可能在分岔
    之前就结束了；在分岔的地方，至少有 3 个列表还有调用。只有一个进程出错，其余的
    进程都是对的，所以请求的调用也相同。
    返回（进程，行号），说明第一次与其他进程不同的调用是哪个进程在哪一行代码里
    请求的。如果那个进程漏掉了一次调用，错误就在返回的这次调用之前。
    """
    # TODO: as written, it blames the call at which process 0 got stuck.
    # TODO：现在的写法只怪 0 号进程卡住的那次调用。
    name, line = calls[0][-1]
    return 0, line


def who_is_missing(
    stacks: list[list[tuple[str, int, str]]],
) -> tuple[int, int] | None:
    """Find the process that the others wait for, and its line in incident.py.

    stacks: for each process, the stack of its main thread, a list of frames
    (file, line, function) with the innermost frame first. A process that waits
    for the others has a frame in "progress.py" or in a JAX file (the name of
    such a file begins with "jax/"); this need not be the innermost frame.
    Returns (process, line) for the process that is not waiting for the others,
    where `line` is the line of its innermost frame in "incident.py". Returns
    None if all processes wait: then no process is missing, and a device may
    have stopped.

    找出哪个进程没有来参加下一次调用，停在 incident.py 的哪一行代码。

    stacks：每个进程有一个列表，是主线程停住时的调用栈，由元组（文件，行号，函
    数）组成，最里层的在最前面。正在等其他进程的进程，调用栈里必有一层在
    "progress.py" 里，或者在 JAX 的文件里，这些文件的名称以 "jax/" 开头；这一层
    不一定是最里层。
    返回（进程，行号），即没有在等其他进程的那个进程，以及它在 "incident.py" 里最靠里的那一层的
    行号。如果所有进程都在等，就返回 None，因为这时没有进程缺席，要查的是设备。
    """
    # TODO: as written, it takes the first process and its innermost frame.
    # TODO：现在的写法取的是第一个进程、最里层的那一层。
    file, line, function = stacks[0][0]
    return 0, line
