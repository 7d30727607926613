"""`python -m lessons class submissions/`: every student's answers checked, each student's in a sandbox of its own.

The parent process (`grading`) never runs a submission: a sandbox does (`sandbox_pool`, inside it `sandbox_child`),
isolated as well as the machine can (`isolation`), and says what it saw; the parent judges and writes one report
(`report`, `spreadsheet`).
"""
