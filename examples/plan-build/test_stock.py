import unittest

from stock import parse_line, total


class Stock(unittest.TestCase):
    def test_a_line(self):
        self.assertEqual(parse_line("nails, 12"), ("nails", 12))

    def test_spaces_do_not_matter(self):
        self.assertEqual(parse_line(" nails ,12 "), ("nails", 12))

    def test_the_same_thing_twice_is_added_up(self):
        self.assertEqual(total(["nails, 12", "nails, 3"]), {"nails": 15})


if __name__ == "__main__":
    unittest.main()
