"""Define what the launcher and the processes of a cluster agree on."""

import signal

ASK = signal.SIGUSR2  # a program that runs for days may be told of its end by SIGUSR1
NO_DEBUGGER = "a debugger cannot read the keyboard in a cluster: debug the program in a single process"
