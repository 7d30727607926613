import os
import signal

print("step 1, loss 2.31")
print("step 2, loss 2.17")
os.kill(os.getpid(), signal.SIGABRT)  # as JAX does when a peer has died
