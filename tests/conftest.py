import os

import pytest

# Compiling dominates these tests; what they prove does not depend on XLA's optimisations.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# The command line turns JAX's compilation cache on for its process; here that is everybody's.
os.environ.setdefault("JAX_ENABLE_COMPILATION_CACHE", "false")


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_let_go():
    """Each holds many memory maps: Linux allows a process 65,530, and there XLA crashes."""
    yield
    import jax  # only now, when the variables above are set

    jax.clear_caches()
