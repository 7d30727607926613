"""`python -m lessons class submissions/`: every student's answers checked, each student's in a room of its own.

The parent process (`grading`) never runs a submission: a room (`room`) does, behind the walls that the machine has
(`isolation`), and says what it saw; the parent judges and writes one report (`page`, `table`).
"""
