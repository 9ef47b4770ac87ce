"""python3 -m support.node.clear: removes the residue of nodes of killed runs, by their own records; running ones stay."""

import sys

from support.node import node

if __name__ == "__main__":
    cleared, left = node.clear_away(None)
    for name in cleared:
        print(f"cleared away: {name}", file=sys.stderr)
    for line in left:
        print(f"left: {line}", file=sys.stderr)
    sys.exit(1 if left else 0)
