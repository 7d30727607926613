"""The exercises of ch01_devices.

Work on your copy, answers/ch01_devices.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch01_devices.py 里作答，本文件保持原样。
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)


def devices_by_host(devices: list, platform: str) -> dict[int, list[int]]:
    """List the devices of one platform, host by host.

    devices: a list like `jax.devices()`, but from a machine that you do not
    have. Each device has an `id`, a `platform` such as "tpu" or "cpu", and a
    `process_index`, here its host's number. The devices may come in any order,
    and their ids need not be consecutive.
    platform: the platform to list.
    Returns a dict from the number of each host that has devices of this
    platform to a list of their ids, in ascending order. Other hosts are not in
    the dict.

    列出某个平台的设备，按主机分组。

    devices：就像 `jax.devices()` 给出的列表，只不过来自一台你手边没有的机器。每个设备都有
    `id`、`platform`（例如 "tpu" 或 "cpu"）和 `process_index`（所在主机的编号）。列表的顺序
    是任意的，id 也不一定连续。
    platform：要查的平台。
    返回一个字典：键是主机的编号，值是这台主机上属于这个平台的设备 id 的列表，
    从小到大排列；没有这种设备的主机不出现在字典里。
    """
    # TODO: go through the devices and read their attributes; compute nothing.
    # TODO：逐个查看设备，直接读设备自己的属性，不要靠推算。
    raise NotImplementedError


def spread(arrays: list[jax.Array], devices: list) -> list[jax.Array]:
    """Put each array on one device, so that the devices' memories fill evenly.

    arrays: arrays of any shapes and dtypes.
    devices: some of this machine's devices, in any order.

    Go through `arrays` in order. Put each array, whole, on the device that
    holds the fewest bytes of the arrays placed so far. If several devices are
    tied, take the first of them in `devices`.
    Returns the arrays in the same order, each on its device.

    把每个数组放到一个设备上，让各个设备的内存占用尽量均匀。

    arrays：若干个数组，形状和 dtype 任意。
    devices：本机的一部分设备，顺序任意。

    依次处理每个数组，把它整个放到目前已放字节数最少的设备上；如果这样的设备有
    好几个，就选列表中最靠前的那个。
    返回放好的数组，顺序不变，每个数组都在各自的设备上。
    """
    # TODO: keep count of the bytes; an array knows its own size.
    # TODO：记下每个设备已经放了多少字节；数组知道自己有多大。
    raise NotImplementedError


def add_up(arrays: list[jax.Array]) -> jax.Array:
    """Add arrays on different devices, even if JAX refuses to.

    arrays: one or more f32 arrays whose shapes broadcast, such as f32[n, m],
    f32[m] and f32[]. Each is on one device; some may be committed.

    If JAX itself can add them, the result is on the device that JAX chooses. If
    JAX refuses because some arrays are committed to different devices, the
    result is on the device that holds the most bytes of committed arrays, so
    that as few of these bytes as possible move. If several devices are tied,
    take the one that comes first when you go through the committed arrays in
    order.
    Returns the sum.

    把若干个数组加起来。它们可能在不同的设备上，JAX 拒绝相加时，你的函数也要算
    出结果。

    arrays：一个或多个 f32 数组，形状可以广播，例如 f32[n, m]、f32[m] 和 f32[]。每个数组在
    一个设备上，有的可能已经固定（committed）。

    JAX 自己能相加时，结果在哪里由 JAX 决定。如果有数组固定在不同的设备上，JAX
    会拒绝相加，这时就看各个设备上固定的数组共有多少字节，结果放在最多的那个设
    备上，这样固定的数组要移动的字节最少；如果有好几个设备一样多，就按列表的顺
    序逐个看固定的数组，在这几个设备里选最先遇到的那个。
    返回求和结果。
    """
    # TODO: which device holds what, and which arrays have to move?
    # TODO：哪个设备上有多少，该移动哪一部分？
    raise NotImplementedError


def run_there(function: Callable, tree: Any, device: jax.Device) -> Any:
    """Run a function on one device, wherever its arguments are.

    function: function(tree) returns a tree of arrays. The function also creates
    arrays of its own and looks at where its arguments are, so call it as it is,
    without `jit`.
    tree: a tree of arrays, on any devices, perhaps committed, perhaps not all
    on the same device.
    device: where to run the function.
    Returns function(tree), computed on `device`. All arrays of the result are
    on `device`, too.

    无论参数原来在哪里，都让函数在指定的设备上运行。

    function：function(tree) 返回由数组组成的树；函数自己还会创建数组，并且会查
    看参数在哪个设备上，所以请直接调用它，不要用 `jit`。
    tree：由数组组成的树，数组可能在任何设备上，不一定都在同一个设备上，有的可能已经固定
    （committed）。
    device：让函数在这个设备上运行。
    返回 function(tree) 的结果。计算要在 device 上进行，结果里的所有数组也都要
    在这个设备上。
    """
    # TODO: two things decide where the work is done.
    # TODO：计算在哪里进行，由两件事决定。
    raise NotImplementedError
