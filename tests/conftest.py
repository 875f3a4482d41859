import os
import sys

import pytest

# Compiling dominates these tests; what they prove does not depend on XLA's optimisations.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Many tests compile the same programs: what one process compiles, all others and later runs reuse.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(sys.prefix, "jax-cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


@pytest.fixture(autouse=True, scope="module")
def _compiled_programs_let_go():
    """Each holds many memory maps: Linux allows a process 65,530, and there XLA crashes."""
    yield
    import jax  # only now, when the variables above are set

    jax.clear_caches()
