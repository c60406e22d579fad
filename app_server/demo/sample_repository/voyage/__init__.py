"""Plans passages (sea voyages): legs, speeds and durations."""

from voyage.duration import format_duration
from voyage.leg import Leg

__all__ = ["Leg", "format_duration"]
