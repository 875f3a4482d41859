import os

# Compiling dominates these tests; what they prove does not depend on XLA's optimisations.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
