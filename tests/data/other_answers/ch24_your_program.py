"""Other answers to the exercises of ch24_your_program: right ones, known mistakes, and other wrong ones."""

from solutions import ch24_your_program as right_answers


def drifts__turned(w, mesh):
    return ~right_answers.drifts(w, mesh)


def apart_after_restart__at(start, step, save, load, batches, at):
    return at


def changed__all(before, after, within):
    return {n: (before.get(n, 0), after.get(n, 0)) for n in before | after}


# A small change of the right answer that once passed.
def apart_after_restart__all_but_the_last_loss(start, step, save, load, batches, at):
    i = right_answers.apart_after_restart(start, step, save, load, batches, at)
    return -1 if i == len(batches) - 1 else i
