"""Requests come at random; how long do they wait, how fast is the slice?

Plain Python, no JAX: what a step takes is given, nothing is computed.
"""

import random
from bisect import bisect
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass
class Request:
    came: float  # seconds
    prompt: int  # tokens
    answer: int
    first: float = 0.0  # when its first token was there
    made: int = 0

    @property
    def done(self):
        return self.made == self.answer


def arrivals(rate, seconds, seed=0):
    """Requests, `rate` a second on average, of random lengths."""
    rng, clock, found = random.Random(seed), 0.0, []
    while (clock := clock + rng.expovariate(rate)) < seconds:
        lengths = rng.randint(64, 1024), rng.randint(16, 512)
        found.append(Request(clock, *lengths))
    return found


def between(points):
    """points: {slots: seconds}; straight lines between them, and below the
    first as long as there."""
    xs, ys = zip(*sorted(points.items()), strict=True)

    def seconds(slots):
        i = min(max(bisect(xs, slots), 1), len(xs) - 1)
        slope = (ys[i] - ys[i - 1]) / (xs[i] - xs[i - 1])
        return ys[i - 1] + slope * (max(slots, xs[0]) - xs[i - 1])

    return seconds


def simulate(requests, slots, continuous, step, prefill, seconds):
    """(tokens a second, requests that have a first token).

    step: of slots in use, prefill: of prompt tokens, both in seconds.
    continuous: a slot that is free is given away at once; otherwise only when
    all are done, and until then a step is as long as if none were.
    """
    waiting, active, clock, begun, made = requests[::-1], [], 0.0, [], 0
    while (waiting or active) and clock < seconds:
        while waiting and waiting[-1].came <= clock and len(active) < slots:
            if not continuous and any(r.made > 0 for r in active):
                break
            active.append(new := waiting.pop())
            clock += prefill(new.prompt)  # meanwhile all others wait
            new.first = clock
            begun.append(new)
        if not active:
            clock = waiting[-1].came
            continue
        clock += step(len(active))
        for r in active:
            if not r.done:
                r.made, made = r.made + 1, made + 1
        if continuous or all(r.done for r in active):
            active = [r for r in active if not r.done]
    return made / clock, begun


def line(name, slots, served):
    """Tokens a second; seconds to the first token, median and of 95 %."""
    speed, begun = served
    waits = [r.first - r.came for r in begun]
    late = quantiles(waits, n=20)[-1]
    return f"{name:10} {slots:5} {speed:9,.0f} {median(waits):9.2f} {late:8.2f}"
