"""The exercises of ch13_network.

Work on your copy, answers/ch13_network.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch13_network.py 里作答，本文件保持原样。
"""

import jax
import numpy as np  # noqa: F401 (for your answers)
from jax import lax  # noqa: F401
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P  # noqa: F401


def ring_seconds(size: int, hops: list[tuple[float, float]]) -> float:
    """Predict the time of an all-reduce on a ring with unequal hops.

    size: the number of bytes on each device, a multiple of the number of
    devices n ≥ 2.
    hops: a list of the n hops of the ring, in order, each as (bytes per second,
    seconds of latency).

    The ring works in steps. In a step, every device passes one piece of
    `size` / n bytes to the next device; all devices do so at the same time. A
    hop takes its latency plus the time to transfer the piece at its rate. The
    next step begins when the slowest hop of this one is done. There are n-1
    steps to add up the pieces and n-1 steps to distribute the sums.
    Returns the number of seconds.

    环上各跳有快有慢，预测一次 all-reduce 需要的时间。

    size：每个设备上的字节数，是设备数 n 的倍数，n ≥ 2。
    hops：按顺序给出环上的 n 跳，每一跳是一个元组，由每秒字节数和以秒计的延迟组成。

    all-reduce 沿着环一步一步进行，每一步里，所有设备同时把一小块（size / n 字
    节）交给下一个设备；每一跳要先等自己的延迟过去，再按自己的速率传这一小块。
    这一步的各跳全部结束，下一步才开始。把各块加起来要 n-1 步，把总和分发出去又要
    n-1 步。
    返回一个数，即总秒数。
    """
    # TODO: how long does one step take, and how many steps are there?
    # TODO：一步要多长时间，一共有多少步？
    raise NotImplementedError


def two_level_psum(x: jax.Array, mesh: Mesh) -> jax.Array:
    """Add up the rows of all devices, but send little between hosts.

    x: f32[n, m], one row on each of the n devices, that is, sharded with
    `P(("host", "device"))`; m is a multiple of d.
    mesh: a mesh with the Explicit axes "host" (h hosts) and "device" (d devices
    on each host); n = h · d.
    Returns f32[n, m] with the same sharding, in which every row is the sum of
    all rows of `x`. The function is compiled with `jit`.
    Budget: all-reduces, reduce-scatters and all-gathers only. Each device sends
    at most 2 (h-1)/h × m / d numbers of 4 bytes along "host", and in addition
    at most 2 (d-1)/d × m numbers along "device".

    在所有设备上求和，并且让主机之间只传很少的数据。

    x：f32[n, m]，n 个设备各持有一行，也就是按 `P(("host", "device"))` 分片；m 是 d
    的倍数。
    mesh：有 "host"（h 台主机）和 "device"（每台 d 个设备）两个 Explicit 轴，n = h · d。
    返回 f32[n, m]，分片方式不变，每一行都是 x 所有行的总和。函数会用 `jit` 编译。
    预算：可用 all-reduce、reduce-scatter 和 all-gather。每个设备沿 "host" 最多发送
    2 (h-1)/h × m / d 个数（每个 4 字节），除此之外最多再发送 2 (d-1)/d × m 个数。
    """
    # TODO: within the host, across hosts, within the host.
    # TODO：主机内，主机间，再主机内。
    raise NotImplementedError


def mesh_within(
    devices: list[jax.Device], sizes: dict[str, int], within: str
) -> Mesh:
    """Build a mesh in which one axis never leaves a process.

    devices: a list of all devices of several processes, in any order, the same
    number from each.
    sizes: a dict of the axes of the mesh with their sizes, in order. The
    product of the sizes is the number of devices.
    within: the name of one of the axes; its size divides the number of devices
    of a process.
    Returns the Mesh with these axes in this order. Sort the devices by
    `process_index`, and the devices of one process by `id`. Then fill the mesh
    so that `within` varies fastest, then the last of the other axes, and so on.

    建一个网格，其中有一个轴不跨进程。

    devices：若干进程的全部设备，顺序任意，各进程的设备数相同。
    sizes：按顺序给出网格的各个轴及其大小，各轴大小的乘积等于设备数。
    within：其中一个轴，它的大小能整除一个进程的设备数。
    返回一个 Mesh，轴和轴的顺序都与 sizes 相同。请把设备按 process_index 排序，
    同一进程内再按 id 排序，然后依次填入网格，让 `within` 变化最快，其次是其余
    各轴里的最后一个，依此类推。
    """
    # TODO: fill an array whose last axis is `within`, then move that axis.
    # TODO：先填一个以 within 为最后一维的数组，再移动这个轴。
    raise NotImplementedError


def bytes_leaving(
    groups: list[list[int]], process: list[int], size: int
) -> dict[int, int]:
    """Count the bytes that each process sends to other processes.

    All groups run an all-reduce at the same time, each as a ring through its
    devices in order and from the last one back to the first.

    groups: a list of groups, each a list of device positions.
    process: for each position, the number of its process.
    size: the number of bytes on each device, a multiple of every group's
    length.
    Returns a dict that maps every process in `process` to the number of bytes
    (an int, perhaps 0) that its devices send to devices of other processes.

    求各个进程分别有多少字节发往别的进程。

    各组同时做 all-reduce，每组是一个环，按组内列出的顺序经过各设备，最后一个设
    备再接到第一个设备。

    groups：各组里设备的位置。
    process：每个位置上的设备属于哪个进程。
    size：每个设备上的字节数，是每组长度的倍数。
    返回一个字典，对 process 里出现的每个进程，给出这个进程的设备向其他进程的设
    备发送的字节数（int），没有发送时为 0。
    """
    # TODO: which hops cross between processes, and how many bytes does one hop
    # carry?
    # TODO：哪些跳会跨进程，一跳要传多少字节？
    raise NotImplementedError
