"""Run the command line by `python -m foliax.cli`."""

from . import main

main()
