"""What this machine has and what is wrong with it: the first thing to run where something does not work."""

from minipod.doctor.findings import Finding, as_data, describe
from minipod.doctor.report import examine

__all__ = ["Finding", "as_data", "describe", "examine"]
