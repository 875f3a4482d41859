"""Write the table of 1,000 earthquakes that comes with foliax: python -m examples.earth."""

import importlib.resources
import sys
from pathlib import Path


def main(path: str = "quakes.csv") -> None:
    """Copy the table; src/foliax/data/README.md names its source."""
    Path(path).write_bytes((importlib.resources.files("foliax") / "data/quakes.csv").read_bytes())
    print(f"Wrote 1000 earthquakes to {path}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
