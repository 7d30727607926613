"""The exercises of ch24_your_program.

Work on your copy, answers/ch24_your_program.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch24_your_program.py 里作答，本文件保持原样。
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp  # noqa: F401 (for your answers)
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def budget(bill: list[dict]) -> int:
    """Compute the smallest budget, in bytes, that a program stays within.

    bill: a list of the program's collectives, each a dict with "op", "bytes",
    "devices" (the number that take part, n) and "times" (how often it runs in
    one step). "op" is "all-reduce", "all-gather", "reduce-scatter",
    "all-to-all" or "collective-permute". "bytes" is the size of the larger
    array: the result of an all-gather, or the operand of a reduce-scatter; for
    the other three, operand and result have the same size. "bytes" is always a
    multiple of n.
    Returns the number of bytes that one device sends in a step, by the ring
    model (in an all-to-all, each part is counted once, at the device that it
    comes from). The test `assert_traffic(step, ..., most=budget(bill))`, which
    allows that many bytes, passes; with one byte less it fails.

    程序能够遵守的最小字节预算。

    bill：程序里的集合通信。每一项有 "op"、"bytes"、"devices"（参与的设备数 n）和 "times"（一步里执行几次）。
    "op" 是 "all-reduce"、"all-gather"、"reduce-scatter"、"all-to-all" 或
    "collective-permute"。"bytes" 是较大的那个数组的字节数，即 all-gather 的结果、reduce-scatter 的输入；
    其他操作的输入和结果一样大。"bytes" 总是 n 的倍数。
    返回一个设备在一步里发送多少字节，按环模型计算，all-to-all 的每一块只在发出
    它的设备上算一次；用
    `assert_traffic(step, ..., most=budget(bill))`，即最多这么多字节，测试会通过，再少一个字节就会失败。
    """
    # TODO: what does one device send in each of the five, and how often?
    # TODO：这 5 种操作里，一个设备各发送多少？执行几次？
    raise NotImplementedError


def first_bad(bill: Callable[[int], int], n: int) -> int:
    """With few compilations, find the commit that doubled the traffic.

    bill: bill(i) checks out commit i, from 0 to n - 1, compiles the step and
    returns the number of bytes that a device sends.
    n: the number of commits, 2 or more.

    The number of bytes also varies a little: before the first bad commit it is
    within 10% of bill(0), and from that commit on it is at least 1.8 times
    bill(0). Commit 0 is good, and commit n - 1 is bad.
    Returns the number of the first bad commit.
    Budget: at most `1 + (n - 1).bit_length()` calls of `bill`; one more raises
    RuntimeError.

    用尽量少的编译次数，找出让通信量翻倍的提交。

    bill：bill(i) 取出提交 i（从 0 到 n - 1），编译训练步，返回一个设备发送的字节数。
    n：提交的个数，至少为 2。

    通信量也会小幅变化：在要找的提交之前，与 bill(0) 最多相差 10%；从它开始，至少是 bill(0) 的 1.8 倍。提交 0
    是好的，提交 n - 1 是坏的。
    返回第一个坏提交的编号。
    预算：bill 最多调用 `1 + (n - 1).bit_length()` 次，再多一次就会抛出
    RuntimeError。
    """
    # TODO: what do you know about the commits before a good one, and after a
    # bad one?
    # TODO：一个提交是好的，说明它前面的怎样？一个提交是坏的，说明它后面的怎样？
    raise NotImplementedError


def drifts(w: jax.Array, mesh: Mesh) -> jax.Array:
    """Find out whether any two copies of the weights differ.

    w: f32[n, k], sharded with `P("data")`: row i is the copy of the weights
    that device i of the mesh holds.
    mesh: a mesh with one axis, "data", of size n.
    Returns bool[], the same on every device: whether any two copies differ in
    any bit. The function is compiled with `jit`.
    Budget: one collective-permute of a copy (4 · k bytes) and one all-reduce of
    4 bytes.

    各个副本有没有不同？

    w：f32[n, k]，按 `P("data")` 分片，第 i 行是网格上设备 i 持有的那一份权重。
    mesh：只有一个轴 "data"，大小为 n。
    返回 bool[]，每个设备上都一样，表示是否有两个副本至少差一位（bit）。函数会用 `jit` 编译。
    预算：一次 collective-permute，传一个副本，即 4k 字节；再加一次 4 字节的 all-reduce。
    """
    # TODO: which device does each compare with, and how do all get the result?
    # TODO：每个设备与哪个设备比较？结果怎样告诉所有设备？
    raise NotImplementedError


def apart_after_restart(
    start: Callable[[], Any],
    step: Callable[[Any, Any], tuple[Any, float]],
    save: Callable[[Any], str],
    load: Callable[[str], Any],
    batches: list,
    at: int,
) -> int:
    """Find the first step whose loss differs after training is restarted.

    start: start() returns the first state.
    step: step(state, batch) returns (state, loss). It may change the state that
    it is given.
    save, load: save(state) returns the content of a checkpoint, a string;
    load(text) turns it into a state again.
    batches: a list with one batch for each step.
    at: the training is stopped before step `at`, counted from 0, and continues
    from a checkpoint written there.
    Returns the number of the first step whose loss differs from the loss of a
    run that was never stopped, or -1 if there is none. Two losses differ if
    they are further apart than 1e-9 times the loss of the run without a stop.

    训练重新启动后，从哪一步起与原来不同？

    start：start() 给出最初的状态。
    step：step(state, batch) 给出 (state, loss)，可能会改动传入的状态。
    save、load：save(state) 是检查点的内容，一段文本；load(text) 由它得到状态。
    batches：每一步一个批次。
    at：训练在步骤 at（从 0 数起）之前停下，再从当时写的检查点继续。
    返回损失不同的第一个步骤的编号，与未停的训练的损失之差超过后
    者的 1e-9 倍才算不同；没有这样的步骤时返回 -1。
    """
    # TODO: two training runs; what does the second one's state go through?
    # TODO：训练两次；第二次的状态要经过什么？
    raise NotImplementedError


def changed(
    before: dict[str, int], after: dict[str, int], within: float
) -> dict[str, tuple[int, int]]:
    """List the figures that a commit changed.

    before, after: dicts that map names to figures, none below 0. A missing
    figure is 0.
    within: a fraction, at least 0 and below 1. A figure may differ by at most
    this fraction of its value in `before`.
    Returns a dict {name: (before, after)} of the figures that differ by more.

    一次提交改变了哪些数字？

    before、after：按名字存放的数字，没有负数。没有写出的数字是 0。
    within：与原来相比允许相差几分之几，不小于 0，小于 1。
    返回变化超过 within 的那些数字：一个字典，键是名字，值是之前和之后的两个数。
    """
    # TODO: which names are there, and what is the fraction a fraction of?
    # TODO：有哪些名字？允许的差别是哪个数的几分之几？
    raise NotImplementedError
