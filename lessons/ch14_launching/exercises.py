"""The exercises of ch14_launching. None of them needs a cluster.

Work on your copy, answers/ch14_launching.py; this file stays as it is.

本章的练习，都不需要集群。

请在你自己的副本 answers/ch14_launching.py 里作答，本文件保持原样。
"""

from collections.abc import Callable


def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    """Write the batch script that starts a program on a cluster with Slurm.

    program: the path of a Python file.
    nodes: the number of machines.
    a_node: the number of processes on each machine.
    minutes: the time limit of the job, in minutes.
    submit: submit(text) takes the whole script as one string and returns a dict
    that says what Slurm would do with it. `submit` does not need Slurm, and it
    raises ValueError for anything that `sbatch` would refuse.

    If one process fails, the others must end, too, and everything that a
    process prints must appear in the log immediately.
    Returns the dict that `submit` returned.

    写一份批处理脚本，用 Slurm 在集群上启动一个程序。

    program：一个 Python 文件。
    nodes：机器数。
    a_node：每台机器上的进程数。
    minutes：作业的时限，以分钟计。
    submit：submit(text) 接收整份脚本（一个字符串），返回一个字典，说明 Slurm
    会怎样执行这份脚本。submit 不需要真的 Slurm；遇到 `sbatch` 会拒绝的内容，就
    抛出 ValueError。

    一个进程失败时，其余进程也要结束；进程打印的内容要立刻写进日志。
    返回 submit 的返回值。
    """
    # TODO: write four options, and a line that starts every process.
    # TODO：4 个选项，再加上一条命令，用来启动每个进程。
    raise NotImplementedError


def arguments_by_hand(
    hosts: list[str], gpus: int, a_gpu_each: bool, port: int
) -> list[dict]:
    """List what each process passes to `initialize` if there is no launcher.

    hosts: the names of the hosts.
    gpus: the number of GPUs on each host.
    a_gpu_each: True for one process per GPU, False for one process per host
    with all of its GPUs.
    port: a port that is free on every host.
    Returns a list with one dict per process. The processes are numbered host
    by host, and the list is in this order. Each dict has "host", the host
    where the process is started, and the arguments of
    `jax.distributed.initialize`: "coordinator_address", "num_processes",
    "process_id" and "local_device_ids". The last is a list of the numbers that
    the process's GPUs have on their host.

    没有启动器时，列出每个进程该给 `jax.distributed.initialize` 传的参数。

    hosts：各主机的名字。
    gpus：每台主机的 GPU 数。
    a_gpu_each：为 True 时每个 GPU 一个进程，为 False 时每台主机一个进程，使用这台主机的全
    部 GPU。
    port：每台主机上都空闲的端口。
    返回一个列表，每个进程一个字典，按进程编号排列，编号按主机的顺序依次分配。
    "host" 是这个进程所在的主机；然后是 "coordinator_address"、"num_processes"
    和 "process_id"；"local_device_ids" 是这个进程使用的 GPU 的列表，写 GPU 在
    本机上的编号。
    """
    # TODO: which process starts where, with which number and which GPUs?
    # TODO：哪个进程在哪台主机上启动，编号是几，用哪些 GPU？
    raise NotImplementedError


def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    """Find out, from the environment alone, which launcher JAX recognises.

    environ: the environment variables of one process. More than one launcher
    may have set some of them.
    Returns (name, process_id, num_processes), as `initialize()` without
    arguments would determine them, or None if JAX would find no launcher.
    `name` is "ompi", "slurm" or "gketpu". Assume that there is at most one TPU
    slice, that a host has TPUs if TPU_WORKER_HOSTNAMES or TPU_PROCESS_ADDRESSES
    is set, that nothing runs on Google's virtual machines outside Kubernetes,
    and that no detector uses `mpi4py`. As in JAX 0.10, Open MPI 5 is not
    recognised.

    只看环境变量，判断 JAX 会采用哪个启动器。

    environ：一个进程的环境变量，其中可能有好几个启动器留下的变量。
    返回 (name, process_id, num_processes)，即不带参数的 `jax.distributed.initialize()` 会
    得到的结果，name 是 "ompi"、"slurm" 或 "gketpu"；JAX 找不到启动器时，返回
    None。这里假定最多只有一个 TPU 切片；设了 TPU_WORKER_HOSTNAMES 或
    TPU_PROCESS_ADDRESSES 的主机才有 TPU；程序不会在 Kubernetes 之外的 Google 虚拟
    机上运行；检测器也不查询 `mpi4py`，所以和 JAX 0.10 一样，认不出 Open MPI 5。
    """
    # TODO: go through the detectors in JAX's order; which variables does each
    # of them need?
    # TODO：按 JAX 的顺序逐个试用各检测器；每个检测器需要什么？
    raise NotImplementedError


def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    """Find out why a launch hangs, from the reports of its processes.

    reports: one dict from each process that has started, in any order. Each
    dict contains the arguments that the process would pass to `initialize`
    ("process_id", "num_processes" and "coordinator_address") and the number of
    its local devices ("devices").
    expected: the number of processes that should have started.
    Returns (word, ids) for the first of these cases that applies. `ids` lists
    the ids of the processes concerned, in ascending order, each only once:
    - ("count", …): processes whose num_processes is not `expected`;
    - ("twice", …): ids that more than one process has;
    - ("missing", …): ids below `expected` that no process has;
    - ("coordinator", …): processes whose address differs from the address of
    process 0;
    - ("devices", …): processes whose number of devices differs from that of
    process 0;
    - ("fine", []): nothing is wrong.

    根据各进程知道的情况，说明启动为什么卡住。

    reports：每个已经启动的进程有一个字典，先后不定，写着它会传给 `initialize` 的
    "process_id"、"num_processes" 和 "coordinator_address"，以及它的本地设备数 "devices"。
    expected：应当启动的进程数。
    返回 (word, ids)，取下面各项中最先成立的一项，ids 是有关进程的编号，从小到
    大，每个编号只出现一次：
    - ("count", …) 表示这些进程得到的 num_processes 不等于 expected；
    - ("twice", …) 表示不止一个进程拿到了这些编号；
    - ("missing", …) 表示这些编号小于 expected，却没有进程拿到；
    - ("coordinator", …) 表示这些进程的协调器地址与 0 号进程的不同；
    - ("devices", …) 表示这些进程的设备数与 0 号进程的不同；
    - ("fine", []) 表示一切正常。
    """
    # TODO: check in this order; which entry of the list is process 0?
    # TODO：按这个顺序检查；列表里哪一项是 0 号进程？
    raise NotImplementedError
