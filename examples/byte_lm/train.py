"""Train on all devices of all processes, from the newest checkpoint in FOLDER on: python train.py FOLDER

One process of a job; every launcher starts as many as it likes: minipod run, srun, mpirun, a TPU VM's hosts.
"""

import argparse
import sys
from pathlib import Path

import jax
from minipod.cluster import launch_arguments, missed_launcher

from byte_lm import Unusable
from byte_lm.layouts import make_mesh, parse
from byte_lm.model import Sizes
from byte_lm.training import Settings, train

HERE = Path(__file__).parent


def begin() -> None:
    """Meet the other processes, whoever started them; nobody did: this process is all there is."""
    try:
        jax.distributed.initialize(**launch_arguments())
    except ValueError as error:
        if "coordinator_address" not in str(error):
            raise
        if why := missed_launcher():  # or each process would train by itself
            sys.exit(f"train.py: {why}")


def end() -> None:
    """Leave when all others can leave, too: who leaves early takes the coordinator along, or its last checkpoint."""
    if jax.distributed.is_initialized():
        jax.distributed.shutdown()


def arguments() -> argparse.Namespace:
    own, sizes = Settings(), Sizes()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="for checkpoints; all processes see it; may be a bucket, gs://…")
    parser.add_argument("--mesh", help="data=2,model=4; without, all devices along data")
    parser.add_argument("--text", default=str(HERE / own.text), help="a file, read as bytes")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--every", type=int, default=20, help="steps from one checkpoint to the next")
    for name, value in {"batch": own.batch, "rate": own.rate, "seed": own.seed, **vars(sizes)}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    begin()
    sizes = Sizes(given.layers, given.width, given.heads, given.hidden, given.length)
    settings = Settings(sizes, given.text, given.batch, given.rate, given.seed)
    try:
        mesh = make_mesh(**parse(given.mesh or f"data={jax.device_count()}", jax.device_count()))
        for step, loss in train(settings, mesh, given.folder, given.steps, given.every):
            if jax.process_index() == 0:
                print(f"step {step} loss {loss:.9g}", flush=True)  # nine digits are all that f32 has
    except Unusable as error:
        sys.exit(f"train.py: {error}")
    end()


if __name__ == "__main__":
    main()
