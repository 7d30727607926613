"""The checks of ch12_pitfalls. The first four run in two processes, the oracle
is NumPy on everybody's numbers. The last two read what others left behind."""

import jax
import numpy as np
import pytest

from lessons.ch12_pitfalls import reports

two = pytest.mark.processes(2, devices=2)


def mine(everybody):
    return everybody[jax.process_index()]


class Name(str):
    """A name whose place in a set differs from process to process, as it does
    with a hash seed for each; forked processes have one in common."""

    def __hash__(self):
        return hash((jax.process_index(), str(self)))


@two
def test_sum_by_name(check):
    everybody = []

    def cases(rng):
        drawn = []
        for names, n in (("w1 w2 bias", 3), ("up down left right scale", 2)):
            names = [Name(name) for name in names.split()]
            orders = [rng.permutation(len(names)) for _ in range(2)]
            while any(orders[0] == orders[1]):  # no name meets itself
                orders[1] = rng.permutation(len(names))
            drawn.append(
                [
                    {
                        names[k]: rng.normal(size=n).astype(np.float32)
                        for k in order
                    }
                    for order in orders
                ]
            )
        everybody.extend(drawn)
        return [(mine(parts),) for parts in drawn]

    def oracle(own):
        (parts,) = (p for p in everybody if mine(p).keys() == own.keys())
        return {name: parts[0][name] + parts[1][name] for name in own}

    check(cases, oracle=oracle)


@two
def test_padded_sum(check):
    everybody = []

    def cases(rng):
        for rows, widths in ((2, (8, 16)), (3, (5, 3)), (1, (4, 4))):
            everybody.append(
                [rng.normal(size=(rows, n)).astype(np.float32) for n in widths]
            )
        return [(mine(parts),) for parts in everybody]

    def oracle(own):
        (parts,) = (p for p in everybody if mine(p) is own)
        total = np.zeros(max(p.shape[1] for p in parts), np.float32)
        for part in parts:
            total[: part.shape[1]] += part.sum(axis=0)
        return total

    check(cases, oracle=oracle)


@two
def test_mean_of_batches(check):
    everybody = []

    def cases(rng):
        for n, counts in ((4, (3, 2)), (3, (1, 4)), (2, (2, 0))):
            everybody.append(
                [
                    [
                        rng.normal(size=n).astype(np.float32) + 3 * p + k
                        for k in range(count)
                    ]
                    for p, count in enumerate(counts)
                ]
            )
        return [(mine(parts),) for parts in everybody]

    def oracle(own):
        (parts,) = (p for p in everybody if mine(p) is own)
        return float(np.mean([batch for part in parts for batch in part]))

    check(cases, oracle=oracle)


@two
def test_steps_until_good(check):
    everybody = []

    def cases(rng):
        near = np.linspace(1.0, 0.0, 7, dtype=np.float32)
        for slow in (1.6, 0.5, 9.0):  # process 1 is slower, faster, never there
            both = np.stack([near, near * np.float32(slow)])
            both += rng.uniform(0, 0.01, both.shape).astype(np.float32)
            both[:, -1] += np.float32(slow > 5)
            everybody.append((both, 0.4))
        for before in (1, 3):  # the mean meets the goal, and is not below it
            level = np.float32([1] * before + [0.25, 0.125, 0.0625])
            other = np.float32([1] * before + [0.75, 0.125, 0.0625])
            everybody.append((np.stack([level, other]), 0.5))
        first = np.float32([[0.25, 2, 1], [0.5, 1, 2]])  # good at once
        everybody.append((first, 0.5))
        # each is good once, and not at the same step: the mean never is
        never = np.float32([[0.25, 2, 1, 1], [2, 0.25, 1, 2]])
        everybody.append((never, 0.5))
        return [(mine(both), goal) for both, goal in everybody]

    def oracle(own, goal):
        known = [both for both, _ in everybody]
        (both,) = (b for b in known if np.array_equal(mine(b), own))
        below = np.flatnonzero(both.mean(axis=0) < goal)
        return int(below[0]) + 1 if below.size else len(own)

    check(cases, oracle=oracle, values="count")


def renumbered(rng, found, first=None):
    """(reports, (process, line)) of an incident, its processes numbered anew:
    `first` becomes process 0, or else any but the guilty one."""
    guilty, processes = found["process"], len(found["reports"])
    order = rng.permutation(processes).tolist()
    while order[0] != first if first is not None else order[0] == guilty:
        order = rng.permutation(processes).tolist()
    texts = [found["reports"][k] for k in order]
    if guilty is None:
        return texts, None
    return texts, (order.index(guilty), found["line"])


def the_other_way_round(processes, truth):
    """The same where the guilty process, which was the first, is the last."""
    guilty, line = truth
    return processes[::-1], (len(processes) - 1 - guilty, line)


def by_line_alone(calls, truth):
    """The same as if the guilty process had asked for what the others ask for,
    on another line."""
    guilty, line = truth
    other = (guilty + 1) % len(calls)
    pairs = zip(calls[guilty], calls[other], strict=False)
    k = next(k for k, (a, b) in enumerate(pairs) if a != b)
    name, usual = calls[other][k]
    line += line == usual
    found = [list(names) for names in calls]
    found[guilty][k] = (name, line)
    return found, (guilty, line)


def one_ended(rng, calls, truth):
    """The same as if another process had been killed two calls before they
    part: its list ends there, the others come two calls further at most."""
    guilty, _ = truth
    other = (guilty + 1) % len(calls)
    pairs = zip(calls[guilty], calls[other], strict=False)
    k = next(k for k, (a, b) in enumerate(pairs) if a != b)
    killed = rng.choice([i for i in range(len(calls)) if i != guilty])
    ends = [k - 1 if i == killed else k + 1 for i in range(len(calls))]
    return [names[:end] for names, end in zip(calls, ends, strict=True)]


def from_a_thread(stacks):
    """The same where those who wait do so in a file of Python itself."""
    wait = ("threading.py", 355, "wait")
    waits = [
        any(file == "progress.py" or file.startswith("jax/") for file, *_ in s)
        for s in stacks
    ]
    pairs = zip(stacks, waits, strict=True)
    return [[wait, *s] if waiting else s for s, waiting in pairs]


def in_a_function(stacks):
    """The same where the program's lines stand in a function, called below."""
    renamed = [
        [(f, n, "main" if f == "incident.py" else name) for f, n, name in s]
        for s in stacks
    ]
    return [[*s, ("incident.py", 61, "<module>")] for s in renamed]


def in_the_program(stacks):
    """The same where who does not wait stands in the program itself."""
    return [[f for f in s if f[0] != "incident_data.py"] for s in stacks]


def in_a_file_of_its_own(stacks, name):
    """The same where who does not wait stands in a file like JAX's."""
    names = {"incident_data.py": name}
    return [[(names.get(f, f), *rest) for f, *rest in s] for s in stacks]


def recorded(*faults):
    """The incidents of these kinds that the page does not show."""
    return [i for i in reports.incidents()[2:] if i["fault"] in faults]


def test_first_apart(check):
    known = []

    def cases(rng):
        found = recorded("best", "swap", "broken", "log", "thrift")
        for k, incident in enumerate(found):
            first = incident["process"] if k % 3 == 1 else None
            texts, truth = renumbered(rng, incident, first)
            known.append(([reports.calls(text) for text in texts], truth))
        cut = [(one_ended(rng, *case), case[1]) for case in known[:2]]
        known.extend(cut)
        calls, truth = known[1]  # and as if they parted at their first call
        pairs = zip(calls[truth[0]], calls[truth[0] - 1], strict=False)
        start = next(k for k, (a, b) in enumerate(pairs) if a != b)
        known.append(([names[start:] for names in calls], truth))
        known.append(the_other_way_round(calls, truth))
        known.append(by_line_alone(*known[0]))
        return [(calls,) for calls, _ in known]

    def oracle(calls):
        return next(truth for drawn, truth in known if drawn == calls)

    check(cases, oracle=oracle, values="id")


def test_who_is_missing(check):
    known = []

    def cases(rng):
        found = recorded("retry", "disk", "save", "lock", "stall")
        shown = reports.incidents()[1]  # here two stand on a line of their own
        firsts = [2, None, found[1]["process"]] + [None] * len(found)
        for incident, first in zip([shown, *found], firsts, strict=False):
            texts, truth = renumbered(rng, incident, first)
            known.append(([reports.stack(text) for text in texts], truth))
        # process 0 waits, somebody else is missing; and nobody is
        stacks, truth = next(one for one in known if one[1] and one[1][0])
        all_wait = next(stacks for stacks, truth in known if truth is None)
        known.append((from_a_thread(stacks), truth))
        known.append((in_a_function(stacks), truth))
        known.append((in_the_program(stacks), truth))
        for name in ("my_jax/data.py", "jax_data.py"):
            known.append((in_a_file_of_its_own(stacks, name), truth))
        known.append((from_a_thread(in_a_function(all_wait)), None))
        known.append(the_other_way_round(*known[2]))
        return [(stacks,) for stacks, _ in known]

    def oracle(stacks):
        return next(truth for drawn, truth in known if drawn == stacks)

    check(cases, oracle=oracle, values="id")
