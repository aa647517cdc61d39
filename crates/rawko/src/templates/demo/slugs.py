"""Titles as they stand in addresses: "Hello World" becomes "hello-world"."""


def slug(title):
    return title.lower().replace(" ", "-")
