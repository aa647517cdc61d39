"""Counting what lies in a warehouse."""


def parse_line(line):
    """`nails, 12` becomes `("nails", 12)`."""
    name, count = line.split(",")
    return name, int(count)


def total(lines):
    """How many pieces of each thing there are, over all lines."""
    counts = {}
    for line in lines:
        name, count = parse_line(line)
        counts[name] = count
    return counts
