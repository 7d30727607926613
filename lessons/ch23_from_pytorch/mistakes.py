"""Known wrong answers of ch23_from_pytorch; words.toml explains them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax


def _taken(there, turn, key=int):
    here, layers = {}, {}
    for name, w in there.items():
        w = w.T if w.ndim == 2 and turn(name, w) else w
        if name.startswith("blocks."):
            _, i, of_a_layer = name.split(".", 2)
            layers.setdefault(of_a_layer, {})[key(i)] = w
        else:
            here[name] = w
    stacked = {
        name: np.stack([each[i] for i in sorted(each)])
        for name, each in layers.items()
    }
    return {**here, "blocks": stacked}


def from_state_dict__as_they_are(there, tables):
    return _taken(there, lambda name, w: False)


def from_state_dict__tables_too(there, tables):
    return _taken(there, lambda name, w: True)


def from_state_dict__square_kept(there, tables):
    return _taken(
        there, lambda name, w: name not in tables and w.shape[0] != w.shape[1]
    )


def from_state_dict__ordered_as_text(there, tables):
    return _taken(there, lambda name, w: name not in tables, key=str)


def from_state_dict__as_they_come(there, tables):
    seen = {}
    names = [n for n in there if n.startswith("blocks.")]
    for name in names:  # the n-th of a name, whatever its number says
        _, _, of_a_layer = name.split(".", 2)
        seen[name] = sum(n.split(".", 2)[2] == of_a_layer for n in seen)
    numbered = {
        f"blocks.{seen[n]}.{n.split('.', 2)[2]}" if n in seen else n: n
        for n in there
    }
    return _taken(
        {new: there[old] for new, old in numbered.items()},
        lambda name, w: numbered[name] not in tables,
    )


def from_state_dict__reshaped(there, tables):
    there = {
        n: w if n in tables or w.ndim != 2 else w.reshape(w.shape[::-1])
        for n, w in there.items()
    }
    return _taken(there, lambda name, w: False)


def _multiple(m, whose, then, n):
    m = m * n if then == "psum" else m
    return float(m), whose if then == "nothing" else "all"


def multiple__as_under_pmap(check_vma, cast, of, then, n):
    if check_vma and not cast and of == "loss":
        return _multiple(1, "own", then, n)
    return _right(check_vma, cast, of, then, n)


def _right(check_vma, cast, of, then, n):
    if check_vma and not cast:
        return _multiple(1 if of == "pmean" else n, "all", then, n)
    if check_vma:
        return _multiple(1 / n if of == "pmean" else 1, "own", then, n)
    return _multiple(n if of == "psum" else 1, "own", then, n)


def multiple__averaged_for_you(check_vma, cast, of, then, n):
    if check_vma and not cast and of == "loss":
        return _multiple(1, "all", then, n)
    return _right(check_vma, cast, of, then, n)


def multiple__averaged_everywhere(check_vma, cast, of, then, n):
    if check_vma and not cast:
        return _multiple(1 / n if of == "pmean" else 1, "all", then, n)
    return _right(check_vma, cast, of, then, n)


def multiple__pmean_without_types(check_vma, cast, of, then, n):
    if not check_vma and of == "pmean":
        return _multiple(1 / n, "own", then, n)
    return _right(check_vma, cast, of, then, n)


def multiple__mean_of_equal_ones(check_vma, cast, of, then, n):
    """A pmean of what is n times too large makes it right, it says."""
    m, whose = _right(check_vma, cast, of, "nothing", n)
    if then == "pmean" and whose == "all":
        return 1.0, "all"
    return _multiple(m, whose, then, n)


def multiple__sum_of_equal_ones(check_vma, cast, of, then, n):
    """A psum of what all have alike leaves it, it says."""
    m, whose = _right(check_vma, cast, of, "nothing", n)
    if then == "psum" and whose == "all":
        return m, "all"
    return _multiple(m, whose, then, n)


def multiple__with_types_always(check_vma, cast, of, then, n):
    return _right(True, cast, of, then, n)


def _dealt(order, processes):
    missing = -len(order) % processes
    return np.array([*order, *order[:missing]])


def _side_by_side(each, step, rows, micro):
    now = slice(step * rows * micro, (step + 1) * rows * micro)
    return np.concatenate([e[now].reshape(micro, rows) for e in each], axis=1)


def global_batch__in_blocks(order, step, processes, rows, micro):
    each = np.split(_dealt(order, processes), processes)
    return _side_by_side(each, step, rows, micro)


def global_batch__last_one_again(order, step, processes, rows, micro):
    missing = -len(order) % processes
    padded = np.array([*order, *[order[-1]] * missing])
    each = [padded[r::processes] for r in range(processes)]
    return _side_by_side(each, step, rows, micro)


def global_batch__one_after_the_other(order, step, processes, rows, micro):
    padded = _dealt(order, processes)
    now = slice(step * rows * micro, (step + 1) * rows * micro)
    each = [padded[r::processes][now] for r in range(processes)]
    return np.concatenate(each).reshape(micro, -1)


def global_batch__as_in_the_order(order, step, processes, rows, micro):
    need = rows * micro * processes
    found = _dealt(order, processes)[step * need : (step + 1) * need]
    return found.reshape(micro, -1)


def global_batch__own_first_again(order, step, processes, rows, micro):
    need = -(-len(order) // processes)
    own = [order[r::processes] for r in range(processes)]
    each = [np.array([*mine, *mine[: need - len(mine)]]) for mine in own]
    return _side_by_side(each, step, rows, micro)


def global_batch__micro_in_turn(order, step, processes, rows, micro):
    padded, size = _dealt(order, processes), rows * micro
    each = [
        padded[r::processes][step * size :][:size] for r in range(processes)
    ]
    return np.concatenate([e.reshape(rows, micro).T for e in each], axis=1)


def _clipped(grads, specs, mesh, on_each, check=True):
    return jax.shard_map(
        on_each,
        mesh=mesh,
        in_specs=(specs,),
        out_specs=specs,
        check_vma=check,
    )(grads)


def _norm(grads):
    return jnp.sqrt(sum(jnp.sum(g * g) for g in grads.values()))


def _times(grads, norm, most):
    times = jnp.where(norm > most, most / norm, 1)
    return {n: g * times for n, g in grads.items()}


def clipped__of_the_device(grads, specs, most, mesh):
    def on_each(grads):
        return _times(grads, _norm(grads), most)

    return _clipped(grads, specs, mesh, on_each, check=False)


def clipped__copies_counted(grads, specs, most, mesh):
    def on_each(grads):
        norm = jnp.sqrt(lax.psum(_norm(grads) ** 2, "data"))
        return _times(grads, norm, most)

    return _clipped(grads, specs, mesh, on_each, check=False)


def clipped__each_array(grads, specs, most, mesh):
    return {n: _times({n: g}, _norm({n: g}), most)[n] for n, g in grads.items()}


def clipped__always(grads, specs, most, mesh):
    norm = _norm(grads)
    return {n: g * (most / norm) for n, g in grads.items()}


def clipped__number_by_number(grads, specs, most, mesh):
    return {n: jnp.clip(g, -most, most) for n, g in grads.items()}


def clipped__gathered(grads, specs, most, mesh):
    def on_each(grads):
        whole = {
            n: g
            if specs[n] == P()
            else lax.all_gather(g, "data", axis=0, tiled=True)
            for n, g in grads.items()
        }
        return _times(grads, _norm(whole), most)

    return _clipped(grads, specs, mesh, on_each, check=False)


def _off(ours, theirs):
    return np.abs(np.divide(ours, theirs) - 1)


def which_default__first_step(theirs, runs, rounding):
    for name, ours in runs.items():
        if _off(ours, theirs)[0] <= rounding:
            return name
    return ""


def which_default__last_step(theirs, runs, rounding):
    for name, ours in runs.items():
        if _off(ours, theirs)[-1] <= rounding:
            return name
    return ""


def which_default__nearest(theirs, runs, rounding):
    return min(runs, key=lambda name: _off(runs[name], theirs).max())


def which_default__in_f32(theirs, runs, rounding):
    for name, ours in runs.items():
        if _off(np.float32(ours), np.float32(theirs)).max() <= rounding:
            return name
    return ""


def which_default__means(theirs, runs, rounding):
    for name, ours in runs.items():
        if _off(np.mean(ours), np.mean(theirs)) <= rounding:
            return name
    return ""


def which_default__differences_averaged(theirs, runs, rounding):
    for name, ours in runs.items():
        if _off(ours, theirs).mean() <= rounding:
            return name
    return ""


def which_default__absolute(theirs, runs, rounding):
    for name, ours in runs.items():
        if np.abs(np.subtract(ours, theirs)).max() <= rounding:
            return name
    return ""
