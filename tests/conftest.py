"""What every test may ask for."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared_data():
    """Return the folder of real benchmarks, answers and reference values beside the checkout."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip(f"real data is not beside this checkout ({data.parent.name}/data)")
    return data


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Keep what runs leave for later runs out of the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARKBOOK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def exam_run(tmp_path):
    """Return a maker of finished exam runs whose outcomes are invented, so that no solution needs to run."""
    import made_runs

    def make(name="run", **options):
        return made_runs.exam_run(tmp_path / name, **options)

    return make
