"""The exercises of ch16_capstone: four milestones of the night. Only `stop_after`
is run by two processes, after `jax.distributed.initialize`.

Work on your copy, answers/ch16_capstone.py; this file stays as it is.

本章的练习，也是这一夜的四个里程碑。只有 `stop_after` 由两个进程运行，运行前已经调用过
`jax.distributed.initialize`。

请在你自己的副本 answers/ch16_capstone.py 里作答，本文件保持原样。
"""

import jax  # noqa: F401 (for your answers)
import numpy as np
from jax.experimental import multihost_utils  # noqa: F401


def next_rows(
    saved: dict[str, int], count: int, size: int, process: int, processes: int
) -> tuple[np.ndarray, dict[str, int]]:
    """Find the rows of the next batch that a process reads after a restart.

    saved: the state in the checkpoint, `{"epoch": e, "next": n}`: n rows of
    epoch e have been taken.
    count: the number of rows. In epoch e, they are in the order
    `np.random.default_rng([16, e]).permutation(count)`.
    size: the number of rows in a batch, a multiple of `processes`.
    process: the number of this process.
    processes: the number of processes now, which may be different from before.

    A batch is the next `size` rows of this order. If fewer than `size` rows are
    left, they are dropped, and the next epoch begins. Process 0 reads the first
    part of the batch, process 1 the next part, and so on.
    Returns (rows, after).
    rows: i64[size / processes].
    after: the state for the next checkpoint: the epoch of these rows, and the
    number of rows of this epoch that have been taken by then, even if that is
    all of them.

    重启之后，找出某个进程在下一个批次里要读的行。

    saved：来自检查点，形如 `{"epoch": e, "next": n}`，意思是第 e 轮已经取走了
    n 行。
    count：总行数。第 e 轮的行按 `np.random.default_rng([16, e]).permutation(count)` 的顺
    序取用。
    size：一个批次的行数，是 processes 的倍数。
    process：本进程的编号。
    processes：现在的进程总数，不一定与保存时相同。

    一个批次是这个顺序里接下来的 size 行；如果剩下的不足 size 行，就把剩下的行丢
    掉，从下一轮开始取。0 号进程读批次最前面的一段，1 号进程读接下来的一段，依此
    类推。
    返回 (rows, after)。
    rows：i64[size / processes]，即要读的行的下标。
    after：下一个检查点要保存的内容，也就是这些行所在的轮，以及这一轮到那时共取走的行数；即
    使这一轮已经取完，也这样写。
    """
    # TODO: where does the batch begin, and which part of it belongs to this
    # process?
    # TODO：这个批次从哪里开始，哪一段归本进程？
    raise NotImplementedError


def stop_after(begun: int, told: bool) -> int:
    """Agree with the other processes on the step after which all stop and save.

    begun: the last step that this process has begun. The other processes may be
    at different steps.
    told: True if this process has received SIGTERM. Perhaps only one process
    has.
    Returns a number, the same in every process: the first step that no process
    has begun yet, or 0 if no process has received the signal. All processes
    call this function at the same time.

    与其他进程商定做完哪一步之后一起停下并保存。

    begun：本进程已经开始的最后一步。别的进程可能在别的步上。
    told：本进程是否收到过 SIGTERM。收到信号的可能只有其中一个进程。
    返回一个整数，它在每个进程里都相同，表示还没有任何进程开始的各步中最早的一
    步；如果没有进程收到信号，就返回 0。所有进程同时调用本函数。
    """
    # TODO: no process knows on its own which have the signal, nor which step
    # the others have begun.
    # TODO：哪个进程收到了信号、其他进程走到了哪一步，没有哪个进程独自知道。
    raise NotImplementedError


def newest_whole(folder: dict[str, dict[str, int]]) -> int:
    """Find the newest complete checkpoint.

    folder: a dict, in no particular order, from each name in the checkpoints'
    folder to a dict of the files under that name and their sizes in bytes.

    The name of a checkpoint is "step-" followed by an integer above 0 and
    nothing else. Its parts are all files in it whose names begin with "part-":
    "part-0", "part-1", and so on. The number under "expected" is not a size: it
    is the number of bytes that the parts should have together. It is written
    last, so it is missing if the writing was interrupted. Other files do not
    count. The folder may also contain other things, which are not checkpoints.

    A checkpoint is complete if its parts together have exactly the expected
    number of bytes: no fewer, and no more.
    Returns the step of the newest complete checkpoint, or 0 if there is none.

    找出最新的完整检查点。

    folder：键是检查点文件夹里的各个名字，顺序不定；每个名字对应的值，是这个名
    字下的各个文件和它们的字节数。

    检查点的名字是 "step-" 加一个大于 0 的整数，后面没有别的。检查点里名字以
    "part-" 开头的文件（"part-0"、"part-1"……）全都是这个检查点的组成部分。
    "expected" 对应的数是各部分一共应有的字节数，这个数最后才写，所以写到一半就
    中断的检查点里没有 "expected"。其他文件不算在内；文件夹里其余的东西与我们无关。

    各部分的字节数合起来恰好等于 "expected" 对应的数，检查点才是完整的，少了不
    行，多了也不行。
    返回最新的完整检查点的步数；一个也没有时返回 0。
    """
    # TODO: which names are checkpoints, and which of them are complete?
    # TODO：哪些名字是检查点，其中哪些是完整的？
    raise NotImplementedError


def slow_process(begun: np.ndarray, ready: np.ndarray) -> int:
    """Find the process that all others wait for.

    begun: f64[steps, processes], the times in seconds at which each process
    began each step.
    ready: f64[steps, processes], the times in seconds at which each process
    finished its own part of each step; it then waits for the others. Every
    process reads its own clock, and the clocks differ.

    A process is slow if its own part typically takes more than twice as long as
    the others' parts: compare its median over the steps with the median of the
    medians of all other processes. A single long step does not make a process
    slow. At most one process is slow.
    Returns the number of the slow process, or -1 if none is slow.

    找出让其他进程都等它的那个进程。

    begun：f64[steps, processes]，每一步里各进程开始的时刻，以秒计。
    ready：f64[steps, processes]，每一步里各进程做完自己那部分的时刻，以秒计，
    做完之后就等待其他进程。每个进程看的是自己的时钟，各个时钟并不一致。

    如果某个进程做自己的部分，通常用的时间超过其他进程的两倍，它就是慢的。判
    断时，先求每个进程各步用时的中位数，再把某个进程的中位数，与其他所有进程的中位数
    的中位数相比。只有一步用时很长，不算慢。慢的进程至多有一个。
    返回它的编号；没有慢的进程时返回 -1。
    """
    # TODO: what can you compare, if the clocks differ?
    # TODO：各进程的时钟不一致，有什么是可以比较的？
    raise NotImplementedError
