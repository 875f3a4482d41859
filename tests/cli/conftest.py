import pytest


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    """Use a temporary cache folder instead of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLIAX_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
