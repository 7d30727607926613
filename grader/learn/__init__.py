"""The learner's screen: `python -m lessons learn`. A client of grader/run/service.py, drawn or line by line."""
