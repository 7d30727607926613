"""A signal that comes while a process is forked is not lost: Python swallows what a handler raises just then."""

import os
import signal

import pytest

from minipod.processes import fork, interrupt_later


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_counts_at_the_end_of_the_block(number: signal.Signals):
    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    before, went_on = signal.signal(number, stop), False
    try:
        with pytest.raises(KeyboardInterrupt):
            with interrupt_later():
                os.kill(os.getpid(), number)
                went_on = True
        assert went_on and signal.getsignal(number) is stop
        with interrupt_later():
            pass  # nothing came
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)


def test_what_a_program_does_not_handle_ends_it_as_ever():
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    pid = fork()
    if pid == 0:
        with interrupt_later():
            os.kill(os.getpid(), signal.SIGTERM)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
