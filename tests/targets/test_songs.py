"""Songs: what a file is read as, in memory and streamed, and the sentence for each bad one."""

import numpy as np
import pytest

from pmdviz.errors import InputError, InputWarning
from pmdviz.targets import make_target
from pmdviz.targets.rows import series as songs
from tests.support.tables import looped


def table(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(1922, 2012, n), rng.normal(3.0, 5.0, size=(n, 90))])


def written(path, rows):
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")
    return path


@looped("block", [7, 50, 1000])
def test_a_streamed_file_is_the_table_scaled(tmp_path, monkeypatch, block):
    monkeypatch.setattr(songs, "BLOCK", block)
    rows = table()
    rows[:, 5] = 2.0  # a constant feature
    packed = songs.packed_songs(written(tmp_path / "songs.txt", rows), tmp_path / "songs.npy")
    assert isinstance(packed, np.memmap) and packed.dtype == np.float32 and packed.shape == (50, 91)
    x, year = rows[:, 1:], rows[:, 0]
    sd = np.where(x.std(axis=0) > 1e-9, x.std(axis=0), 1)
    expected = np.column_stack([(x - x.mean(axis=0)) / sd, (year - year.min()) / (year.max() - year.min())])
    np.testing.assert_allclose(packed, expected, atol=1e-5)
    np.testing.assert_allclose(songs.scaled_songs(rows, "t"), expected, atol=1e-12)


def with_a_nan(rows):
    rows[8, 2] = np.nan
    return rows


@looped(
    "change, words",
    [
        (lambda rows: rows[:, :81], "a year and 90 features, 91 numbers; it holds 81"),
        (with_a_nan, "has nan in line 9, column 3"),
        (lambda rows: rows[:, ::-1], "must be a year from 1900 to 2100; line 1 has"),
    ],
)
def test_a_bad_table_gets_a_sentence(tmp_path, change, words):
    path = written(tmp_path / "bad.csv", change(table()))
    with pytest.raises(InputError, match=words):
        songs.packed_songs(path, tmp_path / "out.npy")
    assert not (tmp_path / "out.npy").exists()
    if "81" in words:  # which may be a table of something else than songs, its outcome in the last column
        assert make_target("song_years", data=str(path), num_data=20, dim=4).data.shape == (20, 81)
    elif "nan" in words:
        with pytest.warns(InputWarning, match="1 row with missing values is left out"):
            target = make_target("song_years", data=str(path), num_data=20, dim=4)
        assert len(target.data) + len(target.test_data) == 49
    else:
        with pytest.raises(InputError):
            make_target("song_years", data=str(path), num_data=20, dim=4)


def test_a_missing_and_a_large_file_get_a_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        songs.packed_songs(tmp_path / "none.csv", tmp_path / "out.npy")
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(songs.MOST_BYTES + 1)  # sparse: it takes no room
    with pytest.raises(InputError, match=r"2,000,000,001 bytes, more than 2,000,000,000"):
        songs.packed_songs(tmp_path / "large.csv", tmp_path / "out.npy")


def test_a_target_of_a_file_learns_from_some_rows_and_holds_out_the_others(tmp_path):
    path = str(written(tmp_path / "songs.csv", table(60)))
    target = make_target("song_years", data=path, num_data=40, dim=8)
    assert target.data.shape == (40, 91) and target.test_data.shape == (20, 91) and target.dim == 8
    both = np.concatenate([target.data, target.test_data])
    np.testing.assert_allclose(both[:, :-1].mean(axis=0), 0, atol=1e-9)
    assert both[:, -1].min() == 0 and both[:, -1].max() == 1
    with pytest.raises(InputError, match="num_data must be at most 59"):
        make_target("song_years", data=path, num_data=60, dim=8)
