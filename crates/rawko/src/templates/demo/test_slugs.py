import unittest

import slugs


class Slugs(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slugs.slug("Hello World"), "hello-world")

    def test_punctuation_is_left_out(self):
        self.assertEqual(slugs.slug("Hello, World!"), "hello-world")


if __name__ == "__main__":
    unittest.main()
