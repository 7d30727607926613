"""Read the text of a compiled program (HLO). `minipod.traffic` and `minipod.pods` are the public interface.

- text, calls: the grammar, and the computations that each computation calls
- groups, scalars, loops, ops, collectives, between_slices: the collectives, their groups, and how often they run
- products, kernels, memory, fusions, work: FLOPs, and bytes to and from memory
- overlap, hiding: what is, and what could be, computed while a collective runs
- timeline, clock: how long the program takes by its own schedule
"""
