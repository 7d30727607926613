"""Show the learner's screen, `python -m lessons learn`, drawn or line by line: a client of grader/run/service.py."""
