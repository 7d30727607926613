"""`python -m lessons class submissions/`: every student's answers checked, each student's in a sandbox of its own.

The parent process (`grading`) never runs a submission: a sandbox does (`sandbox/`), isolated as
well as the machine can, and says what it saw; the parent judges, and `results/` writes one report.
"""
