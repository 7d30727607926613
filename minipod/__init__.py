"""minipod: a pod on a laptop — eight simulated devices, two processes, and a look at what they send."""
