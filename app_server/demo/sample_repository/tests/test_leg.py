import unittest

from voyage import Leg


class LegText(unittest.TestCase):
    def test_a_day_sail(self) -> None:
        self.assertEqual(str(Leg(24, 6)), "24 nm at 6 kn: 4h 00m 00s")

    def test_an_odd_speed(self) -> None:
        self.assertEqual(str(Leg(10, 7)), "10 nm at 7 kn: 1h 25m 43s")
