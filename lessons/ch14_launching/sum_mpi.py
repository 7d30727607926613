import jax
import jax.numpy as jnp
import mpi4jax
from mpi4py import MPI

comm = MPI.COMM_WORLD  # no jax.distributed: each process has its own JAX
mine = 4.0 * comm.Get_rank() + jnp.arange(4.0)


def total(mine):
    return mpi4jax.allreduce(mine.sum(), op=MPI.SUM, comm=comm)


print("brought", mine, "total", jax.jit(total)(mine))
print("slope", jax.grad(total)(mine))
