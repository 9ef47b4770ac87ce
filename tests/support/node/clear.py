"""python3 -m support.node.clear: takes away what killed runs left of their nodes, by their own records; what runs is left alone."""

import sys

from support.node import node

if __name__ == "__main__":
    cleared, left = node.clear_away(None)
    for name in cleared:
        print(f"cleared away: {name}", file=sys.stderr)
    for line in left:
        print(f"left: {line}", file=sys.stderr)
    sys.exit(1 if left else 0)
