"""The protocol of real data: splits, copies, jitter, and messages where data is absent."""

import numpy as np
import pytest

from benchmarks import own, real, real_results
from benchmarks.splits import Recorded, split_rows
from docs.build import README, ROOT, replace_section
from foliax.manifolds import Euclidean

VALUES = np.random.default_rng(0).integers(0, 60, (200, 2)) / 10.0
RECORDED = Recorded(Euclidean(2), VALUES, np.broadcast_to([0.1, 0.0], VALUES.shape), lambda v: v)
ORDER = np.random.default_rng(1).permutation(200)


def test_deduplicated_rows_occur_once_and_in_their_first_place():
    split = split_rows(RECORDED, ORDER)
    seen: set[tuple] = set()
    expected = []
    for part in np.split(VALUES[ORDER], [160, 180]):
        expected.append([row for row in map(tuple, part) if not (row in seen or seen.add(row))])
    found = [list(map(tuple, part)) for part in (split.train, split.validation, split.test)]
    assert found == expected
    assert len(seen) < 200, "the rows have no copies"


def test_raw_rows_are_as_recorded():
    split = split_rows(RECORDED, ORDER, raw=True)
    everything = np.concatenate([split.train, split.validation, split.test])
    np.testing.assert_array_equal(everything, VALUES[ORDER])
    assert [len(part) for part in split[1:4]] == [160, 20, 20]


def test_jitter_stays_within_the_cells():
    split = split_rows(RECORDED, ORDER)
    moved = np.abs(split.jittered - split.test)
    assert 0 < moved[:, 0].max() <= 0.05
    assert (moved[:, 1] == 0).all()


@pytest.mark.parametrize(
    ("by_row", "widths"),
    [(False, [[1, 0.1], [0.001, 1], [1, 1]]), (True, [[0.1] * 2, [0.001] * 2, [1, 1]])],
)
def test_a_row_may_tell_of_zeros_that_a_file_has_not(by_row, widths, monkeypatch, tmp_path):
    (tmp_path / "earthquake.csv").write_text("lat,lon\n38,58.2\n35.683,36\n7,8\n")
    monkeypatch.setenv("FOLIAX_DATA", str(tmp_path))
    np.testing.assert_allclose(real.recorded("earthquake", by_row).widths, widths)


def test_absent_data_is_skipped_with_a_message(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FOLIAX_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr(own, "FILES", {"moons": ("no-such-package", "1.0", "x.csv")})
    assert real.available() == []
    said = capsys.readouterr().out
    assert "Skipped: volcano, earthquake" in said
    assert "nowhere does not hold their files. Name the folder by --data or FOLIAX_DATA." in said
    assert "Skipped: moons needs no-such-package==1.0" in said
    with pytest.raises(ModuleNotFoundError, match="`make benchmarks` installs"):
        own.locate("moons")


def test_the_data_folder_is_beside_the_repository_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("FOLIAX_DATA", raising=False)
    assert real.data_folder() == ROOT.parent / "shared" / "data"
    monkeypatch.setenv("FOLIAX_DATA", str(tmp_path))
    assert real.data_folder() == tmp_path


def test_only_the_sets_whose_files_are_absent_are_skipped(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("FOLIAX_DATA", str(tmp_path))
    monkeypatch.setattr(own, "FILES", {})
    for name in ("rna.csv", "splits.npz"):
        (tmp_path / name).touch()
    assert real.available() == ["rna T⁷", "rna T⁵"]
    assert "Skipped: volcano, earthquake, flood, fire, because" in capsys.readouterr().out


def test_the_option_names_the_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("FOLIAX_DATA", "elsewhere")
    monkeypatch.setattr("sys.argv", ["real", "--show", "--data", str(tmp_path)])
    monkeypatch.setattr(real, "show", lambda results: None)
    monkeypatch.setattr(real, "publish", lambda results: None)
    real.main()
    assert real.data_folder() == tmp_path


def test_results_are_kept_apart_by_protocol():
    names = {
        real_results.name_of("flood", "auto", 0, protocol) for protocol in real_results.PROTOCOLS
    }
    assert names == {"flood | auto | 0", "flood | auto | 0 | raw", "flood | auto | 0 | all rows"}


def test_the_summary_is_that_of_the_stored_results():
    summary = real_results.summary(real_results.stored())
    assert summary in README.read_text(encoding="utf-8"), "python -m benchmarks.real --show"


def test_means_errors_and_shares_of_the_splits():
    event = "held-out log density of the whole (0.250 kernel, 0.750 local kernel): 1.0"
    splits = {
        0: {"nll": 1.0, "mass": [1.0, 0.003], "gain": [0, 0.1], "events": [event]},
        3: {"nll": -2.0, "mass": [0.998, 0.004], "gain": [2, 0.1], "events": ["no shares"]},
    }
    group = real_results.Group("flood", "auto", "all rows", splits)
    assert group.mean("nll", deviation=True) == "−0.500 ± 1.500"
    assert group.mean("nll jittered") == "–"
    assert group.estimate("mass", 4) == "0.9990 ± 0.0025"
    assert group.estimate("gain", 1) == "1.0 ± 1.0", "splits differ more than their errors say"
    assert group.made_of() == "local kernel 37.5%, kernel 12.5%"
    other = group._replace(model="kernel", splits={3: splits[3], 4: splits[3]})
    assert list(other.only(group).splits) == [3]


def test_the_marked_part_of_a_page_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- b -->\nold\n<!-- end of b -->\nc\n")
    replace_section(page, "b", "new\nlines")
    assert page.read_text() == "a\n<!-- b -->\nnew\nlines\n<!-- end of b -->\nc\n"
    with pytest.raises(ValueError, match="<!-- d -->"):
        replace_section(page, "d", "")
