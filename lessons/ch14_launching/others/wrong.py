"""Mistakes of ch14_launching once more, spelled differently, where that may tell: the name must be the same."""


def _job(nodes, tasks, time, start, before="", first="#!/bin/sh\n"):
    return f"{first}{before}#SBATCH -N{nodes} {tasks}\n#SBATCH -t {time}\n{start}\n"


def sbatch_file__empty_first_line(program, nodes, a_node, minutes, submit):
    tasks = f"--ntasks-per-node={a_node}"
    return submit(
        _job(
            nodes,
            tasks,
            minutes,
            f"srun -K1 -u python {program}",
            first="   #!/bin/sh\n",
        )
    )


def sbatch_file__option_of_srun(program, nodes, a_node, minutes, submit):
    tasks = f"-n {nodes * a_node} --kill-on-bad-exit"
    return submit(_job(nodes, tasks, minutes, f"srun -u python {program}"))
