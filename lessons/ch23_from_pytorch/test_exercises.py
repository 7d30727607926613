"""The checks of ch23_from_pytorch; the oracles compute in NumPy, in float64."""

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from grader import Budget, array, fitting, sent


def weights(rng, shapes):
    return {n: np.float32(rng.normal(size=s)) for n, s in shapes.items()}


def test_from_state_dict(check):
    def cases(rng):
        drawn = []
        for layers, d, hidden in ((12, 3, 5), (11, 4, 4), (2, 3, 2)):
            shapes = {
                "embed.weight": (7, d),
                "position.weight": (d, d),
                "norm.weight": (d,),
                "logits.weight": (7, d),
            }
            for i in range(layers):
                shapes |= {
                    f"blocks.{i}.norm.weight": (d,),
                    f"blocks.{i}.out.weight": (d, d),
                    f"blocks.{i}.up.weight": (hidden, d),
                    f"blocks.{i}.up.bias": (hidden,),
                    f"blocks.{i}.in_proj_weight": (3 * d, d),
                    f"blocks.{i}.far.weight": (d + 1, d),  # a table in a layer
                }
            names = rng.permutation(list(shapes))
            there = weights(rng, {str(n): shapes[str(n)] for n in names})
            tables = {"embed.weight", "position.weight"}
            tables |= {f"blocks.{i}.far.weight" for i in range(layers)}
            drawn.append((there, tables))
        return drawn

    def oracle(there, tables):
        count = 1 + max(int(n.split(".")[1]) for n in there if "blocks." in n)

        def turned(name):
            w = np.asarray(there[name], np.float64)
            return w.T if w.ndim == 2 and name not in tables else w

        here = {n: turned(n) for n in there if not n.startswith("blocks.")}
        names = [n[9:] for n in there if n.startswith("blocks.0.")]
        here["blocks"] = {
            n: np.array([turned(f"blocks.{i}.{n}") for i in range(count)])
            for n in names
        }
        return here

    check(cases, oracle=oracle)


# What comes out before anything is done to the gradient; seen by running each
# (tests/lessons/test_from_pytorch.py), not derived.
FOUND = {
    (True, False, "loss"): ("n", "all"),
    (True, False, "pmean"): ("1", "all"),
    (True, False, "psum"): ("n", "all"),
    (True, True, "loss"): ("1", "own"),
    (True, True, "pmean"): ("1/n", "own"),
    (True, True, "psum"): ("1", "own"),
    (False, False, "loss"): ("1", "own"),
    (False, False, "pmean"): ("1", "own"),
    (False, False, "psum"): ("n", "own"),
}


def test_multiple(check):
    def cases(rng):
        every = [
            (*how, then, n)
            for how in FOUND
            for then, n in zip(
                ("nothing", "pmean", "psum"),
                rng.permutation([2, 4, 8]),
                strict=True,
            )
        ]
        return [(*how, int(n)) for *how, n in every]

    def oracle(check_vma, cast, of, then, n):
        m, whose = FOUND[check_vma, cast, of]
        m = {"n": n, "1": 1, "1/n": 1 / n}[m] * (n if then == "psum" else 1)
        return float(m), whose if then == "nothing" else "all"

    check(cases, oracle=oracle, values=("data", "label"))


def test_global_batch(check):
    def cases(rng):
        drawn = []
        for count, processes, rows, micro, step in (
            (47, 3, 4, 2, 1),  # 48: the last step has the one that is repeated
            (30, 4, 2, 2, 1),  # two are repeated
            (40, 2, 3, 3, 0),
            (23, 2, 4, 3, 0),
        ):
            order = [int(i) for i in rng.permutation(count)]
            drawn.append((order, step, processes, rows, micro))
        return drawn

    def oracle(order, step, processes, rows, micro):
        found = np.zeros((micro, processes * rows), int)
        for m in range(micro):
            for r in range(processes):
                for i in range(rows):
                    at = ((step * micro + m) * rows + i) * processes + r
                    found[m, r * rows + i] = order[at % len(order)]
        return found

    check(cases, oracle=oracle, values="id")


def test_clipped(check):
    def cases(rng):
        drawn = []
        for size, each, most in ((4, 2, 3.0), (8, 3, 0.5), (2, 5, 1e3)):
            (size,) = fitting(size)
            devices = rng.permutation(np.array(jax.devices()[:size]))
            mesh = Mesh(devices, ("data",), axis_types=(AxisType.Auto,))
            shapes = {"up": (size * each, 3), "down": (size, 4), "norm": (6,)}
            specs = {"up": P("data"), "down": P("data"), "norm": P()}
            grads = {
                n: jax.device_put(
                    array(rng.normal(size=s) * rng.uniform(0.5, 2)),
                    NamedSharding(mesh, specs[n]),
                )
                for n, s in shapes.items()
            }
            drawn.append((grads, specs, most, mesh))
        return drawn

    def oracle(grads, specs, most, mesh):
        g = {n: np.asarray(x, np.float64) for n, x in grads.items()}
        norm = np.sqrt(sum((x * x).sum() for x in g.values()))
        return {n: x * min(1, most / norm) for n, x in g.items()}

    def budget(grads, specs, most, mesh):
        return Budget(
            {"all-reduce"}, sent("all-reduce", 4 * len(grads), mesh.size)
        )

    check(
        cases,
        oracle=oracle,
        compare=("value", "placement"),
        how="jit",
        budget=budget,
    )


def test_which_default(check):
    def cases(rng):
        names = ["none", "eps", "gelu", "weight_decay", "beta2", "clip"]
        begins = {"eps": 0, "gelu": 0, "weight_decay": 1, "beta2": 2, "clip": 1}
        drawn = []
        for answer, rounding in (
            ("weight_decay", 1e-12),
            ("eps", 1e-12),
            ("none", 1e-9),
            ("beta2", 1e-10),
            ("", 1e-10),
            ("clip", 1e-9),
        ):
            base = np.exp(-np.linspace(0, 1, 8)) * rng.uniform(4, 6)
            # Each change shows from its step on, and heals at the end.
            grows = np.array([1, 2, 5, 9, 9, 5, 1, 0]) * 1e-6
            runs = {}
            for name in rng.permutation(names):
                off = np.zeros(8)
                if name != "none":
                    first = begins[name]
                    off[first:] = grows[: 8 - first] * rng.uniform(1, 3)
                    if first == 0:
                        off[-1] = 0
                noise = rng.uniform(-0.3, 0.3, 8) * rounding
                runs[str(name)] = base * (1 + off) * (1 + noise)
            theirs = runs[answer] if answer else base * (1 + 3e-8)
            theirs = theirs * (1 + rng.uniform(-0.3, 0.3, 8) * rounding)
            as_lists = {n: [float(x) for x in r] for n, r in runs.items()}
            drawn.append(([float(x) for x in theirs], as_lists, rounding))
        # Less than f32 can hold; each step, not the mean; only late.
        signs, late = np.array([1, -1] * 4), np.eye(8)[6]
        for off, rounding in (
            (np.full(8, 3e-9), 1e-12),
            (1e-6 * signs / base, 1e-9),
            (3e-9 * late, 1e-9),
        ):
            runs = {"none": base * (1 + off), "eps": base * (1 + 1e-5)}
            as_lists = {n: [float(x) for x in r] for n, r in runs.items()}
            drawn.append(([float(x) for x in base], as_lists, rounding))
        # All of these are numbers of f32, which cannot hold the difference;
        # one step agrees, not the first.
        held = [4.0, 3.5, 3.0, 2.5, 2.25, 2.0, 1.75, 1.5]
        off = np.full(8, 3e-9)
        off[3] = 0
        none = [float(x) for x in held * (1 + off)]
        near = {"none": none, "eps": held[::-1]}
        drawn.append((held, near, 1e-12))
        return drawn

    def oracle(theirs, runs, rounding):
        for name, run in runs.items():
            if all(
                abs(a - b) <= rounding * b
                for a, b in zip(run, theirs, strict=True)
            ):
                return name
        return ""

    check(cases, oracle=oracle, values="label")
