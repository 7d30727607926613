import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


def _lengths(who, experts, devices):
    parts = who.reshape(devices, -1)
    return np.stack([np.bincount(part, minlength=experts) for part in parts])


# what: this answer believes that jnp.unique gives one entry for every expert, so that entry i is where expert i begins; an expert that nobody chose is left out and shifts all later ones.
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    t, k = who.shape
    flat = who.T.reshape(-1)
    order = jnp.lexsort((-gate.T.reshape(-1), flat))
    ranked = flat[order]
    _, start = jnp.unique(ranked, return_index=True, size=experts)
    place = jnp.arange(t * k, dtype=jnp.int32) - start[ranked].astype(jnp.int32)
    out = jnp.zeros(t * k, jnp.int32).at[order].set(place)
    return out.reshape(k, t).T


# what: this answer believes that counts have no gradient and so f has to be made of the probabilities too: f is the mean of p, and the loss E times the sum of P squared.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[1]

    def local(p, who, real):
        mass, count = lax.psum(((p * real[:, None]).sum(0), real.sum()), "e")
        mean = mass / count
        return experts * jnp.sum(mean * mean)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)


# what: this answer believes that the share is one of queues: that at most this part of all queues may be longer than the capacity, however many choices they lose.
def capacity_for(
    who: np.ndarray, experts: int, devices: int, most: float
) -> int:
    lengths = _lengths(who, experts, devices)
    places = 1
    while (lengths > places).mean() > most:
        places += 1
    return places


# what: this answer believes that sent[i][j] is what device i gets from device j: it reads the table with rows and columns exchanged.
def ragged_offsets(
    sent: list[list[int]], bound: int, me: int
) -> tuple[list[int], list[int], list[int], list[int]]:
    n = len(sent)
    mine = [sent[j][me] for j in range(n)]
    input_offsets = [sum(mine[:j]) for j in range(n)]
    begins = [[min(bound, sum(sent[j][:i])) for i in range(n + 1)] for j in range(n)]
    output_offsets = [begins[j][me] for j in range(n)]
    send_sizes = [begins[j][me + 1] - begins[j][me] for j in range(n)]
    recv_sizes = [begins[me][j + 1] - begins[me][j] for j in range(n)]
    return input_offsets, send_sizes, output_offsets, recv_sizes
