"""Prices with tax."""


def with_tax(price, rate):
    return round(price * (1 + rate / 10), 2)
