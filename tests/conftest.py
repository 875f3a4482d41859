import os

# Compiling dominates these tests; what they prove does not depend on XLA's optimisations.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# The command line turns JAX's compilation cache on for its process; here that is everybody's.
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")
