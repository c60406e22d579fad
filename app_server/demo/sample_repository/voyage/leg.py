"""One leg (part) of a passage (sea voyage)."""

from dataclasses import dataclass

from voyage.duration import format_duration


@dataclass(frozen=True)
class Leg:
    distance_nautical_miles: float
    speed_knots: float

    @property
    def seconds(self) -> float:
        """The time that the leg takes, in seconds. A knot is one nautical mile per hour."""
        return self.distance_nautical_miles / self.speed_knots * 3600

    def __str__(self) -> str:
        return f"{self.distance_nautical_miles:g} nm at {self.speed_knots:g} kn: {format_duration(self.seconds)}"
