"""Run `python -m lessons class submissions/`: check every student's answers, each student's in a separate sandbox.

The parent process (`grading`) never runs a submission: a sandbox does (`sandbox/`), isolated as
well as the machine can, and reports what it saw; the parent judges, and `results/` writes one report.
"""
