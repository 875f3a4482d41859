"""`python -m foliax.cli`."""

from . import main

main()
