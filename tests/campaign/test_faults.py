"""A short part of `make faults`, in this process: errors of the file system during a fit."""

import pandas as pd
import pytest

from campaign import fault_child
from campaign.fault_child import CALLS, Fault
from campaign.faults import SCHEMA, describe_model, make_table
from foliax import io

from ..cli.running import run


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A table, a model that was fitted to it, and the words of the command."""
    folder = tmp_path_factory.mktemp("faults")
    make_table(folder / "data.csv")
    words = ("fit", folder / "data.csv", "-s", SCHEMA, "-m", "flow", "-o")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fault_child.dequantized_flow, "FLOW", fault_child.FLOW)
        patch.setenv("FOLIAX_SAVE_SECONDS", "0")
        run(*words, folder / "whole.foliax")
        yield folder, words, describe_model(folder / "whole.foliax")


@pytest.mark.parametrize("error", ["ENOSPC", "EROFS"])
@pytest.mark.parametrize("call", CALLS)
def test_a_file_system_error_loses_nothing(fitted, tmp_path, call, error):
    _, words, expected = fitted
    output = tmp_path / "a.foliax"
    output.write_bytes(b"an old model")
    fault = Fault(call, 1, error, tmp_path)
    with fault.inject():
        # The first call of these kinds checks the output; the first replacement keeps progress.
        text = run(*words, output, code=0 if call == "replace" else 2).output
    if call == "replace":
        assert "Progress cannot be kept" in text
        assert describe_model(output) == expected
    else:
        assert "a.foliax cannot be written" in text
        assert output.read_bytes() == b"an old model"
    assert [path.name for path in tmp_path.iterdir()] == ["a.foliax"]


def test_a_model_that_cannot_be_written_resumes_to_the_same_bits(fitted, tmp_path):
    _, words, expected = fitted
    output = tmp_path / "a.foliax"
    # One replacement names the run, and one follows after each of 40 steps; then comes the model.
    with Fault("replace", 42, "ENOSPC", tmp_path).inject():
        run(*words, output, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["a.foliax.run"]
    run(*words, output, "--resume")
    assert describe_model(output) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["a.foliax"]


def test_a_changed_model_is_noticed(fitted, tmp_path):
    folder, _, expected = fitted
    model = io.load(folder / "whole.foliax")
    assert model.record is not None
    model.record.history.pop()
    parts = {"record": model.record, "schema": model.schema}
    io.save(tmp_path / "a.foliax", model.density, **parts)
    assert describe_model(tmp_path / "a.foliax") != expected


def test_faults_elsewhere_do_not_count(tmp_path):
    with Fault("open", 1, "EIO", tmp_path / "other").inject():
        pd.DataFrame({"x": [1]}).to_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").exists()
