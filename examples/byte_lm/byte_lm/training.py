"""The step, and the loop around it."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial

import jax
import optax
from flax import nnx
from jax import NamedSharding, P
from jax.sharding import Mesh

from byte_lm import Unusable
from byte_lm.checkpoints import Checkpoints
from byte_lm.data import Batches
from byte_lm.layouts import ROWS
from byte_lm.model import BYTES, Net, Sizes, loss


@dataclass(frozen=True)
class Settings:
    sizes: Sizes = Sizes()
    text: str = "LICENSE"  # a file
    batch: int = 32  # windows, of all devices together
    rate: float = 0.003
    seed: int = 0

    def named(self) -> dict[str, int | float | str]:
        """By name, for a checkpoint: who goes on from it needs the same. Of the text, the name of its file."""
        own = {"text": os.path.basename(self.text), "batch": self.batch, "rate": self.rate, "seed": self.seed}
        return asdict(self.sizes) | own

    def check(self, mesh: Mesh) -> None:
        """Unusable where an axis of the mesh does not divide what it cuts."""
        sizes, data, model = self.sizes, mesh.shape["data"], mesh.shape["model"]
        for name, number, by in (
            ("the batch", self.batch, data),
            ("the width", sizes.width, data),
            ("the width", sizes.width, sizes.heads),
            ("the number of heads", sizes.heads, model),
            ("the number of hidden units", sizes.hidden, model),
            ("the number of bytes", BYTES, model),
        ):
            if number % by:
                raise Unusable(f"{name}, {number}, cannot be cut into {by} equal parts")


def optimizer(settings: Settings) -> optax.GradientTransformation:
    rate = optax.warmup_constant_schedule(0.0, settings.rate, warmup_steps=10)
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate))


def made(settings: Settings) -> tuple[Net, nnx.Optimizer]:
    """Model and optimiser as they begin; the mesh is the one around this call."""
    net = Net(settings.sizes, nnx.Rngs(settings.seed))
    return net, nnx.Optimizer(net, optimizer(settings), wrt=nnx.Param)


class Training:
    """What is compiled for a mesh. A state is a tree of arrays: parameters, Adam's moments, the count of steps."""

    def __init__(self, settings: Settings, mesh: Mesh):
        self.settings, self.mesh = settings, mesh
        with self._on_mesh():
            self._graph = nnx.graphdef(nnx.eval_shape(partial(made, settings)))
        self.step = jax.jit(self._step, donate_argnums=0)

    def start(self) -> nnx.State:
        """The first state; each device makes what it keeps."""
        with jax.set_mesh(self.mesh):
            return jax.jit(self._start)()

    def _on_mesh(self) -> AbstractContextManager[None]:
        """Around what is traced: layouts then need not name the mesh, whose devices may be elsewhere (plan.py)."""
        return jax.sharding.use_abstract_mesh(self.mesh.abstract_mesh)

    def _start(self) -> nnx.State:
        return nnx.state(made(self.settings))

    def _step(self, state: nnx.State, tokens: jax.Array) -> tuple[nnx.State, jax.Array]:
        """(the next state, the loss before it), for tokens: int32[batch, length + 1]."""
        with self._on_mesh():
            net, adam = nnx.merge(self._graph, state)
            value, gradients = nnx.value_and_grad(loss)(net, tokens)
            adam.update(net, gradients)
            return nnx.state((net, adam)), value

    def described(self) -> tuple[nnx.State, jax.ShapeDtypeStruct]:
        """The arguments of `step`, without their numbers: shapes, dtypes, shardings."""

        def on_mesh(x: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
            spec = x.sharding.spec if x.sharding else P()
            return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(self.mesh, spec))

        shape = (self.settings.batch, self.settings.sizes.length + 1)
        tokens = jax.ShapeDtypeStruct(shape, "int32", sharding=NamedSharding(self.mesh, ROWS))
        with self._on_mesh():
            state = jax.eval_shape(self._start)
        return jax.tree.map(on_mesh, state), tokens


def train(
    settings: Settings,
    mesh: Mesh,
    folder: str,
    steps: int,
    every: int,
    begin: Callable[[int], None] = lambda step: None,
) -> Iterator[tuple[int, float]]:
    """(step, its loss) for each step from the newest checkpoint in `folder` up to `steps`, saving after each `every`.

    begin(step) is called before each step, counted from 0: for what watches a training, or disturbs it in a test.
    Unusable where the checkpoints there were made with other settings.
    """
    settings.check(mesh)
    training = Training(settings, mesh)
    batches = Batches(settings.text, settings.sizes.length, settings.batch, settings.seed, mesh)
    with Checkpoints(folder) as checkpoints:
        if found := checkpoints.newest(training.described()[0], settings.named()):
            first, state, batches.position = found
        else:
            first, state = 0, training.start()
        for step in range(first, steps):
            begin(step)
            state, value = training.step(state, next(batches))
            yield step, float(value)
            if (step + 1) % every == 0 or step + 1 == steps:
                checkpoints.save(step + 1, state, batches.position, settings.named())
