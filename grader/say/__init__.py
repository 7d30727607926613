"""Explain a verdict in the learner's language."""
