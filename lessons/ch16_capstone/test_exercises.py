"""The checks of ch16_capstone: four milestones, none needs a cluster."""

from itertools import islice

import jax
import numpy as np
import pytest


def test_next_rows(check):
    def cases(rng):
        epoch = int(rng.integers(1, 9))
        return [  # saved, rows, size of a batch, our number, processes
            ({"epoch": 0, "next": 0}, 26, 8, 0, 2),
            ({"epoch": epoch, "next": 8}, 27, 8, 1, 2),
            ({"epoch": epoch, "next": 12}, 60, 12, 2, 4),
            ({"epoch": epoch, "next": 24}, 30, 8, 1, 2),  # the rest is short
            ({"epoch": epoch, "next": 18}, 18, 6, 0, 1),  # nothing is left
            ({"epoch": epoch, "next": 16}, 24, 8, 3, 4),  # it just fits
            ({"epoch": epoch, "next": 20}, 45, 8, 1, 2),  # 10 a batch before
        ]

    def oracle(saved, count, size, process, processes):
        def rows():  # of all epochs that are left, one by one
            epoch, taken = saved["epoch"], saved["next"]
            while True:
                shuffled = np.random.default_rng([16, epoch])
                left = list(shuffled.permutation(count))[taken:]
                for n in range(len(left) - len(left) % size):
                    yield epoch, taken + n + 1, left[n]
                epoch, taken = epoch + 1, 0

        batch = list(islice(rows(), size))
        share = size // processes
        mine = [row for *_, row in batch[process * share :]][:share]
        return np.array(mine), {"epoch": batch[-1][0], "next": batch[-1][1]}

    check(cases, oracle=oracle, values=("id", "index"))


@pytest.mark.processes(2, devices=2)
def test_stop_after(check):
    everybody = {}  # (begun, told) of each process, by one's own

    def cases(rng):
        # No process is given the same twice.
        a, b, c = (int(n) for n in rng.integers(10, 20, 3) + [0, 20, 40])
        drawn = [
            ((a, False), (a + 3, True)),
            ((b + 2, False), (b, True)),
            ((c + 1, True), (c, True)),
            ((c + 50, False), (c + 52, False)),
            ((b + 90, True), (b + 95, False)),
            ((2**24 + 1, False), (2**24 - 3, True)),  # no float32
        ]
        everybody.update({each[jax.process_index()]: each for each in drawn})
        assert len(everybody) == len(drawn)
        return [each[jax.process_index()] for each in drawn]

    def oracle(begun, told):
        each = everybody[begun, told]
        if not any(told for _, told in each):
            return 0
        step = min(begun for begun, _ in each)
        while any(begun >= step for begun, _ in each):
            step += 1
        return step

    check(cases, oracle=oracle, values="index")


def test_newest_whole(check):
    def whole(rng, parts):
        files = {f"part-{k}": int(rng.integers(400, 600)) for k in range(parts)}
        return files | {"expected": sum(files.values())}

    def cases(rng):
        w = [whole(rng, parts) for parts in (2, 2, 4, 1, 3, 2, 2)]
        short = w[5] | {"part-1": 7}
        no_end = {"part-0": 9999, "part-1": 9999}
        more = w[6] | {"notes.txt": 12}
        left_over = w[0] | {"part-3": 7}  # of a run with more processes
        one_more = w[6] | {"part-2": 7}  # of one with one more
        cut_off = w[1] | {"part-1.tmp": 8}  # begins with "part-", too
        return [
            ({"step-80": w[2], "step-100": w[1], "step-90": w[0]},),
            ({"step-30": short, "step-20": w[3], "step-10": w[4]},),
            ({"step-8": w[0], "step-12": no_end, "step-10": w[2]},),
            ({"step-40.tmp": w[1], "logs": {"0.log": 70}, "step-30": w[3]},),
            ({"step-5": more, "step-7-copy": w[0], "best-9": w[2]},),
            ({"step-3": short, "step-2.tmp": w[0]},),
            ({"step-9": {}, "step-5": w[0]},),
            ({"step-1_0": w[0], "step-7 ": w[1], "step-4": w[3]},),
            ({"step-11": whole(rng, 11), "step-6": w[0]},),
            ({"step-9": left_over, "step-4": w[1]},),
            ({"step-6": one_more, "step-3": w[4]},),
            ({"step-9": cut_off, "step-8": w[2]},),
            ({},),
        ]  # fmt: skip

    def oracle(folder):
        for step in range(1000, 0, -1):
            files = dict(folder.get(f"step-{step}", {}))
            parts = [n for file, n in files.items() if file[:5] == "part-"]
            if sum(parts) == files.get("expected", -1):
                return step
        return 0

    check(cases, oracle=oracle, values="id")


def test_slow_process(check):
    def times(rng, processes, steps, slow=None, factor=1.0, long=None, by=1.0):
        own = rng.uniform(0.10, 0.12, (steps, processes)) * by
        if slow is not None:
            own[:, slow] *= factor
        if long is not None:
            own[long] = 60.0  # a step of a process
        ends = np.cumsum(own.max(axis=1))[:, None]  # all wait for the last
        clocks = rng.uniform(-90, 90, processes)
        begun = ends - own.max(axis=1)[:, None] + clocks
        return begun, begun + own

    def in_each_step(*own):
        """As long in all steps; binary fractions, so that twice is twice."""
        begun = np.zeros((3, len(own)))
        return begun, begun + own

    def cases(rng):
        still = np.zeros((3, 4))
        return [
            in_each_step(0.25, 0.5, 0.25),  # just twice as long
            in_each_step(1.5, 2.625, 1.0),
            times(rng, 4, 9, slow=2, factor=4.0),
            times(rng, 2, 7, slow=0, factor=2.9),
            times(rng, 2, 6, slow=1, factor=2.7),
            times(rng, 5, 8),
            times(rng, 4, 9, long=(0, 1)),
            times(rng, 3, 6, long=(0, 0)),
            times(rng, 3, 9, slow=1, factor=3.0, long=(5, 2)),
            times(rng, 8, 5, slow=5, factor=1.6),
            times(rng, 4, 25, by=[1, 1, 0.4, 1]),  # a fast one; nobody slow
            times(rng, 4, 25, by=[1.8, 1, 2.35, 1]),  # two lag, one is slow
            # the others' medians are 1, 1, 1.75; half of their times above 1.5
            (
                still,
                still[:, :4]
                + [[3, 0.5, 0.5, 1.75], [3, 1, 1, 1.75], [3, 9, 9, 1.75]],
            ),
            # in one of three steps more than twice as long; its median is
            (still[:, :2], still[:, :2] + [[1, 1], [5, 1], [5, 3]]),
        ]

    def oracle(begun, ready):
        steps, processes = begun.shape

        def middle(numbers):
            ordered, half = sorted(numbers), len(numbers) // 2
            return (ordered[half] + ordered[-1 - half]) / 2

        own = [
            middle([ready[s, p] - begun[s, p] for s in range(steps)])
            for p in range(processes)
        ]
        for p in range(processes):
            if own[p] > 2 * middle(own[:p] + own[p + 1 :]):
                return p
        return -1

    check(cases, oracle=oracle, values="id")
