"""Wrong answers of ch23_from_pytorch that its mistakes.py does not know."""

import jax
import jax.numpy as jnp
import numpy as np
from solutions import ch23_from_pytorch as right


def from_state_dict__stacked_last(there, tables):
    here = right.from_state_dict(there, tables)
    here["blocks"] = {
        n: np.moveaxis(w, 0, -1) for n, w in here["blocks"].items()
    }
    return here


def from_state_dict__layers_reversed(there, tables):
    here = right.from_state_dict(there, tables)
    here["blocks"] = {n: w[::-1] for n, w in here["blocks"].items()}
    return here


def from_state_dict__names_with_blocks(there, tables):
    here = right.from_state_dict(there, tables)
    here["blocks"] = {f"blocks.{n}": w for n, w in here["blocks"].items()}
    return here


def multiple__always_right(check_vma, cast, of, then, n):
    return 1.0, "all"


def multiple__swapped(check_vma, cast, of, then, n):
    m, whose = right.multiple(check_vma, cast, of, then, n)
    return 1 / m, whose


def global_batch__next_step(order, step, processes, rows, micro):
    return right.global_batch(
        order[1:] + order[:1], step, processes, rows, micro
    )


def global_batch__processes_reversed(order, step, processes, rows, micro):
    found = right.global_batch(order, step, processes, rows, micro)
    return found.reshape(micro, processes, rows)[:, ::-1].reshape(micro, -1)


def clipped__by_the_square(grads, specs, most, mesh):
    square = sum(jnp.sum(g * g) for g in grads.values())
    return {n: g * jnp.minimum(1, most / square) for n, g in grads.items()}


def clipped__to_one(grads, specs, most, mesh):
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in grads.values()))
    return {n: g / jnp.maximum(1, norm) for n, g in grads.items()}


def clipped__on_every_device(grads, specs, most, mesh):
    whole = jax.NamedSharding(mesh, jax.P())
    found = right.clipped(grads, specs, most, mesh)
    return jax.tree.map(
        lambda g: jax.lax.with_sharding_constraint(g, whole), found
    )


def which_default__any_step(theirs, runs, rounding):
    for name, ours in runs.items():
        if (np.abs(np.divide(ours, theirs) - 1) <= rounding).any():
            return name
    return ""


def which_default__the_worst(theirs, runs, rounding):
    return max(runs, key=lambda n: np.abs(np.divide(runs[n], theirs) - 1).max())


def which_default__never_none(theirs, runs, rounding):
    return right.which_default(
        theirs, {n: r for n, r in runs.items() if n != "none"}, rounding
    )
