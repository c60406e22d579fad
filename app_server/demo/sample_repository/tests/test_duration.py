import unittest

from voyage import format_duration


class FormatDuration(unittest.TestCase):
    def test_seconds_alone(self) -> None:
        self.assertEqual(format_duration(5), "5s")

    def test_minutes_and_seconds(self) -> None:
        self.assertEqual(format_duration(125), "2m 05s")

    def test_hours(self) -> None:
        self.assertEqual(format_duration(3725), "1h 02m 05s")

    def test_rounding_up_carries_into_the_minute(self) -> None:
        self.assertEqual(format_duration(59.7), "1m 00s")

    def test_rounding_up_carries_into_the_hour(self) -> None:
        self.assertEqual(format_duration(3599.6), "1h 00m 00s")
