"""The 1,000 earthquakes near Fiji that foliax carries, as a table: python -m examples.earth."""

import importlib.resources
import sys
from pathlib import Path


def main(path: str = "quakes.csv") -> None:
    """Copy it; where it is from is in src/foliax/data/README.md."""
    Path(path).write_bytes((importlib.resources.files("foliax") / "data/quakes.csv").read_bytes())
    print(f"Wrote 1000 earthquakes to {path}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
