"""Tests in simulated clusters, and this folder on their path."""

pytest_plugins = ["minipod.testing.plugin"]
