"""`recording.py FOLDER PROGRAM [ARGUMENTS…]`: run a program while a profile is recorded."""

import runpy
import sys
from pathlib import Path


def main() -> None:
    folder, program, *arguments = sys.argv[1:]
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # no event for each call of a Python function
    sys.argv = [program, *arguments]
    sys.path[0] = str(Path(program).resolve().parent)  # as when it is run
    with jax.profiler.trace(f"{folder}/profile", profiler_options=options):
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
