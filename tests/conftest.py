import gc
import os
import sys

import pytest

# Compiling dominates these tests; what they prove does not depend on XLA's optimisations.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# XLA's older emitters compile in half the time.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_opt_preset=FAST_COMPILE "
    "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_multi_thread_eigen=false",
)
# With these emitters XLA's threads have waited for each other for ever. A process that runs tests
# gets one core and runs programs in its main thread, which is as fast.
os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "0")
# Tracing makes many objects and no garbage: the default thresholds cost a tenth of the time.
gc.set_threshold(100_000, 50, 100)
# Many tests compile the same programs: what one process compiles, all others and later runs reuse.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(sys.prefix, "jax-cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
# The command line would move that cache into the user's folder.
os.environ["FOLIAX_CACHE"] = "off"
MAX_RESIDENT_BYTES = 1_500_000_000
"""Memory above which a worker drops its compiled programs, so that it stays below 2 GB."""


def pytest_configure(config):
    """Pin a process that runs tests; the one that only starts pytest-xdist's workers stays free."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None and config.getoption("numprocesses", None):
        return
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[int((worker or "gw0").removeprefix("gw")) % len(cores)]})


@pytest.fixture(autouse=True)
def _drop_compiled_programs():
    """Each holds memory and memory maps: Linux allows a process 65,530, and there XLA crashes."""
    yield
    if resident_bytes() > MAX_RESIDENT_BYTES:
        import ctypes

        import jax  # only now, when the variables above are set

        jax.clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """Memory that this process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
