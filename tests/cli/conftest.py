import pytest


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    """The user's cache folder is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLIAX_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
