"""Show the learner's screen, `python -m lessons learn`: a client of grader/run/service.py, drawn or line by line."""
