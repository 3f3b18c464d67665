"""The player of a run and of a race, and all other files of a race."""

import base64
import csv
import json
import re
import zlib
from copy import deepcopy

import numpy as np
import pytest

import pmdviz
from pmdviz.export import WRITERS
from pmdviz.export.films import Film, RaceFilm, traces_of
from pmdviz.export.live import recipes_of
from pmdviz.export.options import Look, RaceLook
from pmdviz.export.player import GAP, INSIDE_DOTS, Numbers, Player
from pmdviz.scenes.columns import INK, LARGEST_DOT
from pmdviz.scenes.race import tile_columns, tile_picture
from pmdviz.scenes.stage import SCENES
from tests.export.conftest import KINDS
from tests.support.tables import looped, refused


def unpacked(text):
    """The numbers of a player as its script reads them."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).astype(np.uint16)
    high, low = np.split(planes, 2)
    return high * 256 + low


def merged(base, change):
    """As the script of the page puts a change in its place."""
    if not isinstance(change, dict):
        return change
    both = dict(base) if isinstance(base, dict) else {}
    for name, part in change.items():
        both[name] = merged(both.get(name), part)
    return {name: part for name, part in both.items() if part is not None}


def opened(payload, frame, k=0):
    """The k-th picture of a frame, its columns as arrays."""
    numbers, picture = unpacked(payload["numbers"]), merged(deepcopy(payload["pictures"][k]), frame["pictures"][k])
    for mark in picture["marks"].values():
        for name, part in mark["columns"].items():
            if isinstance(part, dict):
                start, length, *scale = part["at"]
                found = numbers[start : start + length]
                if not scale:
                    low, high = np.split(found.astype("<u4"), 2)
                    mark["columns"][name] = (high << 16 | low).view("<f4")
                    continue
                low, step, *log = payload["scales"][scale[0]]
                values = np.where(found == GAP, np.nan, low + step * found)
                mark["columns"][name] = 10**values if log else values
    return picture


def test_the_same_array_is_stored_once_and_so_is_a_column_that_grows_when_the_longest_comes_first():
    numbers = Numbers()
    one, two = np.array([1, 2, 3], np.uint16), np.array([4], np.uint16)
    assert [numbers.put(each) for each in (one, two, one.copy())] == [[0, 3], [3, 1], [0, 3]]
    assert unpacked(numbers.text()).tolist() == [1, 2, 3, 4]
    numbers, long, other = Numbers(), np.array([1, 2, 3, 4], np.uint16), np.array([1, 2, 5], np.uint16)
    assert [numbers.put(each, "x") for each in (long, long[:2], long[:0], other)] == [[0, 4], [0, 2], [0, 0], [4, 3]]
    assert unpacked(numbers.text()).tolist() == [*long, *other]


@pytest.fixture(scope="module")
def scenes(run):
    return [*Film(run, Look.checked({"frames": 7})).scenes()]


def page(run, scenes, **options):
    return Player(Film(run, Look.checked(options)), scenes)


@pytest.mark.parametrize("traces", ["tv", "kl"])
def test_the_payload_holds_the_pictures_of_every_frame(run, scenes, traces):
    made = page(run, scenes, traces=traces)
    payload, last = made.payload, made.scenes[-1]
    assert len(payload["frames"]) == 7
    for frame, scene in zip(payload["frames"], scenes, strict=True):
        stage, lines = opened(payload, frame), opened(payload, frame, 1)
        dots, line = scene.columns.particles, scene.columns.approximate
        found, look = stage["marks"]["particles"]["columns"], stage["marks"]["particles"]["look"]
        assert look["area"] == pytest.approx(INK) and look["most"] == dots["size"].max() <= LARGEST_DOT
        np.testing.assert_allclose(np.minimum(found["size"], look["most"]), dots["size"], atol=1e-3)
        np.testing.assert_allclose(found["size"] ** 2 / look["area"], dots["weight"], atol=1e-5)
        for mark, expected in ((found, dots), (stage["marks"]["approximate"]["columns"], line)):
            for name in ("x", "y"):
                np.testing.assert_allclose(mark[name], expected[name], atol=2e-4)
        assert frame["words"] == scene.words
        drawn = traces_of(made.film, last, scene)
        assert {*lines["marks"]} == {*drawn.marks} and lines["legend"] == drawn.legend
        for key, mark in ((key, mark) for key, mark in drawn.marks.items() if mark.columns):
            for side in ("x", "y"):
                column = mark.look.get(side, side)
                expected = np.asarray(mark.columns[column], float)
                np.testing.assert_allclose(lines["marks"][key]["columns"][column], expected, rtol=1e-3, atol=1e-4)
    places = [
        merged(payload["pictures"][0], frame["pictures"][0])["marks"]["particles"]["columns"]["x"]
        for frame in payload["frames"]
    ]
    for before, after, scene in zip(places, places[1:], scenes[1:], strict=False):
        between = {mark.iteration for mark in scene.marks if mark.kind == "rejuvenated"}
        assert (before == after) == (not between & {scene.iteration - 1, scene.iteration})


def film_in(text):
    return re.search(r'<script type="application/json" id="film">(.*?)</script>', text, flags=re.S)[1]


def test_a_player_carries_the_image_of_every_frame(tmp_path):
    run = pmdviz.run(target="logistic", budget=500, floor=False, num_particles=100)
    path = run.export(tmp_path / "film.html", frames=2, traces="mean_error")
    film = json.loads(film_in(path.read_text(encoding="utf-8")))
    first, last = (opened(film, film["frames"][k])["marks"]["image"]["columns"] for k in (0, -1))
    expected = Film(run, Look.checked({}), all_floors=False).last_scene().columns.image.values
    np.testing.assert_allclose(last["values"], expected.ravel(), atol=1e-4)
    assert last["shape"] == [*expected.shape] and not np.array_equal(first["values"], last["values"])


def test_the_page_is_whole_by_itself_and_an_end_of_a_script_in_the_words_ends_nothing(run, scenes, tmp_path):
    text = page(run, scenes).html()
    assert not re.search(r"<(script|img|iframe|source)[^>]*\ssrc=|<link[^>]*\shref=|@import|url\(\s*['\"]?http", text)
    assert "import pmdviz" in text and "iteration 0, 0 of 1,200 observations used" in text
    assert json.loads(film_in(text))["fps"] == 20
    odd = [scene._replace(words="</script><b>", note="<!--<script>") for scene in scenes]
    text = page(run, odd).html()
    assert text.count("</script><b>") == 0
    film = film_in(text)
    assert "<" not in film and "<!--<script>" in str(json.loads(film))
    assert "&lt;/script&gt;&lt;b&gt;" in text


def with_steps(run, **options):
    film = Film(run, Look.checked({"frames": 5, "traces": "none", **options}), all_floors=False)
    return Player(film, film.scenes())


def test_every_frame_has_its_step_in_numbers_that_add_up_unless_steps_are_left_out(run):
    made = with_steps(run)
    numbers = unpacked(made.payload["numbers"])

    def read(place):
        start, length, *scale = place["at"]
        if scale:
            found, (low, step) = numbers[start : start + length], made.payload["scales"][scale[0]]
            return np.where(found == GAP, np.nan, low + step * found)
        low, high = np.split(numbers[start : start + length].astype(np.uint32), 2)
        return (high << 16 | low).view(np.float32)

    for (told,), frame, scene in zip(made.insides, made.payload["frames"], made.scenes, strict=True):
        (kept,) = frame["inside"]
        assert told["iteration"] == kept["iteration"] == scene.iteration
        if "note" in told:
            assert kept["note"] == told["note"] and scene.iteration == 0
            continue
        np.testing.assert_array_equal(read(kept["total"][0]), told["total"][0])  # to the last bit
        np.testing.assert_array_equal(read(kept["dots"]["row"]), told["dots"]["row"])
        terms = sum(read(term["values"][0]).astype(float) for term in kept["terms"])
        np.testing.assert_allclose(terms, told["total"][0], atol=2e-4)
        np.testing.assert_allclose(read(kept["dots"]["x"]), told["dots"]["x"], atol=1e-3)
        np.testing.assert_allclose(read(kept["dots"]["weight"]), told["dots"]["weight"], rtol=5e-4)
        drawn = merged(made.payload["pictures"][0], frame["pictures"][0])["marks"]["approximate"]["columns"]
        assert kept["lines"]["after"]["x"] == drawn["x"]  # stored once
        assert len(told["dots"]["row"]) <= INSIDE_DOTS + 1
    assert not any(scene.steps for scene in made.scenes)  # the frames are let go of
    text = made.html()
    assert made.payload["inside"] and "inside_view = " in text
    without = with_steps(run, inside=False)
    assert without.insides == [] and not any("inside" in frame for frame in without.payload["frames"])
    plain = without.html()
    assert not without.payload["inside"] and "inside_view = " not in plain and len(plain) < len(text)


METHODS = ["pmd:num_particles=150", "smc:num_particles=120,batch_size=100", "sgld:batch_size=150", "svi"]
PARTS = {"target_options": {"num_data": 300, "sigma_x": 1.5}, "budget": 900}


@pytest.fixture(scope="module")
def race():
    return pmdviz.race(METHODS, seeds=[4, 2], points=3, **PARTS)


@pytest.fixture(scope="module")
def race_scenes(race):
    return [*film(race, frames=4).scenes()]


def film(race, **options):
    return RaceFilm(race, RaceLook.checked(options))


@looped("suffix", KINDS)
def test_every_kind_of_file_is_written_and_told_of(run, race, tmp_path, suffix):
    for name, what in (("run", run), ("race", race)):
        told, options = [], {"width": 320, "height": 180, "frames": 3}
        options = {name: value for name, value in options.items() if name in WRITERS[suffix].options}
        tell, place = (lambda *share, told=told: told.append(share)), tmp_path / f"{name}{suffix}"
        assert what.export(str(place), progress=tell, **options) == place and place.stat().st_size > 50
        if "frames" in options:
            assert told[-1] == (3, 3) and [done for done, _ in told] == sorted(done for done, _ in told)
            assert len(told) > 12 or what is run, "between any two steps it can be ended"
    assert {one.stem for one in tmp_path.iterdir()} == {"run", "race"}


def test_a_live_page_has_the_recipe_of_each_of_two_entrants(race):
    two = pmdviz.race(METHODS[:2], seeds=[4], points=2, **PARTS)
    assert recipes_of(film(two)) == [two.recipe.of(one, 4) for one in two.entrants]
    refused("a live page has one method", recipes_of, film(race))


def test_every_frame_shows_all_at_the_same_data_visited(race, race_scenes):
    """Those who can have taken the first step that reaches the level; the ends are those of the recipes."""
    alone = {k: pmdviz.Session(race.recipe.of(one, 4)) for k, one in enumerate(race.entrants)}
    levels = film(race, frames=4).levels
    assert levels == [0, 300, 600, 900]
    for level, scene in zip(levels, race_scenes, strict=True):
        for k, session in alone.items():
            while session.frame.visited < level and not session.done:
                session.advance()
            tile = scene.tiles[k]
            assert tile.trace["visited"][-1] == tile.visited == session.frame.visited
            page = tile_columns(session.frame, 4, SCENES["posterior"], (0, 1))
            for mine, theirs in zip(tile.columns[:3], page[:3], strict=True):
                assert all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in theirs)
            assert tile.state.endswith(f"{session.frame.visited:,} obs.")
            assert tile.row["tv"] == session.frame.metrics["tv"]
    assert all(len(tile.trace["visited"]) == 1 for tile in race_scenes[0].tiles)
    assert race_scenes[0].words.startswith("iteration 0, 0 of 900 observations each")
    last = {row["method"]: row["tv"] for row in race.rows if row["seed"] == 4}
    assert [tile.trace["tv"][-1] for tile in race_scenes[-1].tiles] == [*last.values()]
    assert race_scenes[-1].tiles[1].note == "finished: one pass only"


def test_as_many_frames_as_asked_and_a_race_in_the_middle_ends_where_each_stands(race, tmp_path):
    steps = max(int(h["iteration"][-1]) for (_, seed), h in race.histories.items() if seed == 4)
    assert steps >= 9 and film(race).frames == min(100, steps + 1)
    assert film(race, frames=5).levels == [0, 225, 450, 675, 900] and film(race, every=400).levels == [0, 400, 800, 900]
    for options, words in (
        ({"frames": steps + 2}, f"frames must be at most {steps + 1:,} (iterations 0 to {steps}"),
        ({"traces": "ess"}, "traces: ess is unavailable for all methods of this race; available: tv, kl_forward, kl_"),
        ({"traces": "es"}, "unknown value of traces: 'es'; did you mean 'ess'"),
        ({"seeds": 3}, "unknown export option of a race 'seeds'"),
    ):
        refused(words, race.export, tmp_path / "race.gif", **options)
    long = film(pmdviz.race(["pmd:num_particles=9"], budget=20_000), every=1)
    refused("a film has at most 2,000 frames; every=1 gives 20,001: take every=11 or more", lambda: long.frames)
    runs = [pmdviz.Session(race.recipe.of(one, 4), metrics_every=1) for one in race.entrants]
    for session in runs:
        while session.frame.visited < 400 and not session.done:
            session.advance()
    histories = {(one.label, 4): session.run.history for one, session in zip(race.entrants, runs, strict=True)}
    *_, last = film(pmdviz.RaceResult(race.recipe, race.rows, histories), frames=3).scenes()
    assert [tile.visited for tile in last.tiles] == [session.frame.visited for session in runs]
    assert last.tiles[0].note == runs[0].frame.caveat.partition(":")[0]


def test_the_player_holds_every_frame_of_every_tile(race, race_scenes):
    made = film(race, clock="density_evaluations")
    page = Player(made, race_scenes)
    payload, frame = page.payload, page.payload["frames"][2]
    drawn = [tile_picture(race_scenes[2], k, made.look.layers) for k in range(4)]
    for k, (expected, tile) in enumerate(zip(drawn, race_scenes[2].tiles, strict=True)):
        picture = opened(payload, frame, k)
        assert payload["titles"][k] == tile.title and frame["states"][k] == tile.state
        assert picture["marks"]["approximate"]["role"] == f"entrant-{k}" and picture["x"]["ticks"] == []
        for key, names in (("particles", ("x", "y", "size")), ("approximate", ("x", "y"))):
            for name in names:
                found = picture["marks"][key]["columns"][name]
                np.testing.assert_allclose(found, expected.marks[key].columns[name], atol=1e-3)
    lines = [opened(payload, frame, 4)["marks"][f"line-{k}"]["columns"]["value"] for k in range(4)]
    known = [np.isfinite(tile.trace["tv"]).sum() for tile in race_scenes[2].tiles]  # a chain of one draw has none
    assert [*map(len, lines)] == known
    one, two = ([merged(payload["pictures"][1], each["pictures"][1])][0] for each in payload["frames"][-2:])
    assert one == two  # one that has ended is stored once
    text = page.html()
    assert "import pmdviz" in text and "density_evaluations" in json.dumps(payload) and "approximate" in text


def read(path):
    units, *rows = path.read_text(encoding="utf-8").splitlines()
    return units, [*csv.DictReader(rows)]


@pytest.mark.ci
def test_rows_and_histories_as_tables(race, tmp_path):
    units, rows = read(race.export(tmp_path / "rows.csv"))
    assert [(row["method"], int(row["seed"])) for row in rows] == [(row["method"], row["seed"]) for row in race.rows]
    for row, true in zip(rows, race.rows, strict=True):
        assert float(row["tv"]) == true["tv"] and int(row["visited"]) == true["visited"]
        assert [float(row[f"mode_mass{k + 1}"]) for k in range(len(true["mode_masses"]))] == true["mode_masses"]
    assert "tv: 0 to 1" in units
    histories = read(race.export(tmp_path / "histories.csv", table="histories"))[1]
    parquet = pytest.importorskip("pyarrow.parquet")
    found = parquet.read_table(race.export(tmp_path / "histories.parquet", table="histories")).to_pydict()
    assert found["method"] == [row["method"] for row in histories]
    at = 0
    for (label, seed), history in race.histories.items():
        part = slice(at, at := at + len(history["iteration"]))
        assert set(found["method"][part]) == {label} and set(found["seed"][part]) == {seed}
        np.testing.assert_array_equal(found["tv"][part], history["tv"])
        assert [float(row["visited"]) for row in histories[part]] == history["visited"].tolist()
    assert at == len(histories)
