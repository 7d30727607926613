"""A pipeline of processes: each stage has its own weights and its own list.

    stage.py SCHEDULE MICROBATCHES FOLDER MILLISECONDS [waits]

A stage sleeps so long in each forward, and twice so in each backward: its
time is then the schedule's, not that of the cores here. waits: a send waits
until its receiver has taken the message.
"""

import json
import os
import sys
import tempfile
import time

import jax
import jax.numpy as jnp
import schedule
from folder_mail import Mailbox
from parts import OF_A_LAYER, embedded, head, layers

STAGES, COST = 4, {"F": 1, "B": 2}


def names(s):
    """The weights of stage s. The table of embedding and head is in two."""
    of_ends = {0: ["embed", "position"], STAGES - 1: ["embed"]}
    return [*OF_A_LAYER, *of_ends.get(s, [])]


def run(name, w, tokens, pause=150, waits=False):
    """A step of all processes: the report of each, with its gradients."""
    from minipod import cluster

    with tempfile.TemporaryDirectory() as folder:
        box = Mailbox(folder, "all")
        for s in range(STAGES):
            for n in names(s):
                mine = w[n][0, s] if n in OF_A_LAYER else w[n]
                box.send(s, n, mine)
            box.send(s, "tokens", tokens)
        more = ["waits"] * waits
        arguments = [name, str(len(tokens)), folder, str(pause), *more]
        done = cluster.run(
            __file__, *arguments, processes=STAGES, devices=1, limit=120
        )
        reports = [json.loads(text.splitlines()[-1]) for text in done.outputs]
        if any(isinstance(one, str) for one in reports):
            return reports  # what each waits for
        for s, one in enumerate(reports):
            one["g"] = {n: box.receive(f"{s}-{n}") for n in names(s)}
    return reports


def bubble(reports):
    """The idle share as it ran, from the first start to the last end."""
    spans = [span for one in reports for span in one["log"]]
    begin, end = min(a for a, _ in spans), max(b for _, b in spans)
    return 1 - sum(b - a for a, b in spans) / (len(reports) * (end - begin))


def apart(reports, slopes):
    """How far the gradients of all stages are from one device's, at most."""
    off = [
        abs(g - (slopes[n][0, s] if n in OF_A_LAYER else slopes[n])).max()
        for s, one in enumerate(reports)
        for n, g in one["g"].items()
    ]
    return max(float(a) for a in off)


class Stage:
    def __init__(self, s, microbatches, box, pause, waits):
        self.s, self.box = s, box
        self.pause, self.waits = pause, waits
        self.first, self.last = s == 0, s == STAGES - 1
        self.w = {n: jnp.asarray(box.receive(n)) for n in names(s)}
        self.tokens = box.receive("tokens")
        self.kept, self.log, self.most = {}, [], 0
        self.loss, self.g = 0.0, jax.tree.map(jnp.zeros_like, self.w)

        def part(w, x, tokens):
            x = layers(w, embedded(w, tokens) if self.first else x)
            return head(w, x, tokens) / microbatches if self.last else x

        def back(g, w, x, tokens, dy):
            _, pull = jax.vjp(lambda w, x: part(w, x, tokens), w, x)
            dw, dx = pull(dy)
            return jax.tree.map(jnp.add, g, dw), dx

        rows, length = self.tokens.shape[1], self.tokens.shape[2] - 1
        self.nothing = jnp.zeros((rows, length, self.w["up"].shape[1]))
        self.one = jnp.float32(1) if self.last else self.nothing
        given = self.w, self.nothing, self.tokens[0]
        self.part = jax.jit(part).lower(*given).compile()
        self.back = jax.jit(back).lower(self.g, *given, self.one).compile()

    def receive(self, op):
        """What an operation of mine begins with."""
        if self.first if op.kind == "F" else self.last:
            return self.one if op.kind == "B" else self.nothing
        return self.box.receive(op.kind + str(op.microbatch))

    def do(self, op):
        x = self.receive(op)
        began, m = time.time(), op.microbatch
        if op.kind == "F":
            self.kept[m] = x
            self.most = max(self.most, len(self.kept))
            y = self.part(self.w, x, self.tokens[m])
            self.loss += float(y) if self.last else 0
        else:
            x, dy = self.kept.pop(m), x
            self.g, y = self.back(self.g, self.w, x, self.tokens[m], dy)
        jax.block_until_ready((self.g, y))
        time.sleep(self.pause * COST[op.kind])
        self.log.append((began, time.time()))
        to = op.part + (1 if op.kind == "F" else -1)
        if 0 <= to < STAGES:
            self.box.send(to, op.kind + str(m), y)
            if self.waits:
                self.box.taken(to, op.kind + str(m))


def main(name, microbatches, folder, pause, waits):
    s = int(os.environ["MINIPOD_PROCESS"])
    box = Mailbox(folder, s)
    stage = Stage(s, microbatches, box, pause, waits)
    for other in range(STAGES):  # all have compiled: now
        box.send(other, f"ready {s}", 0)
    for other in range(STAGES):
        box.receive(f"ready {other}")
    box.most = 5
    try:
        for op in getattr(schedule, name)(STAGES, microbatches)[s]:
            stage.do(op)
    except TimeoutError as error:
        print(json.dumps(str(error)))
        return
    own = jnp.linalg.norm(stage.g.get("embed", jnp.zeros(1)))
    if stage.first or stage.last:  # two copies of one table: add gradients
        other = STAGES - 1 - s
        box.send(other, "of embed", stage.g["embed"])
        stage.g["embed"] += box.receive("of embed")
    for n, g in stage.g.items():
        box.send("all", f"{s}-{n}", g)
    report = {"loss": stage.loss, "kept": stage.most, "log": stage.log}
    size = sum(a.nbytes for a in stage.w.values())
    print(json.dumps(report | {"bytes": size, "norm": float(own)}))


if __name__ == "__main__":
    name, microbatches, folder, pause, *waits = sys.argv[1:]
    main(name, int(microbatches), folder, float(pause) / 1000, bool(waits))
