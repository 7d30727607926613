"""Other answers to the exercises of ch14_launching: right ones, known mistakes, and other wrong ones."""

from solutions import ch14_launching as right_answers


def arguments_by_hand__without_host(*given):
    return [{k: v for k, v in row.items() if k != "host"} for row in right_answers.arguments_by_hand(*given)]


def which_launcher__no_tpu(environ):
    if "OMPI_MCA_orte_hnp_uri" in environ:
        return "ompi", int(environ["OMPI_COMM_WORLD_RANK"]), int(environ["OMPI_COMM_WORLD_SIZE"])
    if "SLURM_STEP_NODELIST" in environ:
        return "slurm", int(environ["SLURM_PROCID"]), int(environ["SLURM_NTASKS"])
    return None
