"""Planted faults in the export: films, pictures, palettes, players, tables."""

FILM, PICTURE, GIF, MP4 = (f"tests/export/test_{name}.py" for name in ("film", "picture", "gif", "mp4"))
PLAYER, EXPORT, OPTIONS, TABLES = (f"tests/export/test_{name}.py" for name in ("player", "export", "options", "tables"))
WORDS = "tests/scenes/test_words.py"
RACE, RECIPE = "tests/export/test_race.py", "tests/experiments/race/test_recipe.py"


def fault(file: str, find: str, replace: str, *tests: str) -> dict:
    """An entry of MUTANTS."""
    return {"file": f"pmdviz/{file}", "find": find, "replace": replace, "tests": list(tests)}


MUTANTS = [
    fault("lab/panels/export.py", "disabled_options=list(lost)", "disabled_options=[]", "tests/lab/test_export.py"),
    fault("lab/panels/export.py", "self.download.visible = False", "pass", "tests/lab/test_export.py"),
    # Films: which iterations, and what belongs to them.
    fault("export/film/film.py", "[*range(0, last, look.every), last]", "[*range(0, last, look.every)]", FILM),
    fault("export/film/film.py", "(2 * k * last + gaps)", "(2 * k * last)", FILM),
    fault("export/film/film.py", "look.frames > last + 1", "look.frames > last + 2", FILM),
    fault("export/film/film.py", "marks += step_marks(session.advance())", "marks = step_marks(session.advance())", FILM),
    fault("export/film/film.py", "if at not in measured]", "if at in measured]", FILM),
    fault("export/film/film.py", "self._seconds(past[\"iteration\"])", "past[\"seconds\"]", FILM),
    # Pictures.
    fault("export/film/stage_panel.py", 'dots["size"] ** 2', 'dots["size"]', PICTURE),
    fault("export/film/stage_panel.py", '[dots["x"], dots["y"]]', '[dots["y"], dots["x"]]', PICTURE),
    fault("export/film/layout.py", "tuple(part / width for part in pattern)", "pattern", PICTURE),
    fault("export/film/layout.py", "min(look.width, look.height) / BASE", "1.0", PICTURE),
    fault("export/film/picture.py", "        self.canvas.restore_region(self._ground)\n", "", PICTURE),
    # GIF.
    fault("export/writers/gif.py", "pixels[~changed[box]] = TRANSPARENT", "pixels[changed[box]] = TRANSPARENT", GIF),
    fault("export/writers/gif.py", "        before[box] = words[box]\n", "", GIF),
    fault("export/writers/gif.py", "(int(columns[0]), int(rows[0]))", "(int(rows[0]), int(columns[0]))", GIF),
    fault("export/writers/gif.py", "CLEAR_BEFORE_NEXT if clear else 1", "1", GIF),
    fault("export/writers/gif.py", "yield round(100 * (k + 1) / fps) - round(100 * k / fps)", "yield 100 // fps", GIF),
    fault("export/film/palette.py", "& 0x7E0", "& 0x3E0", GIF),
    # MP4.
    fault("export/writers/mp4.py", '"-movflags", "+faststart", ', "", MP4),
    fault("export/writers/mp4.py", "process.wait(ENDING_S) != 0", "process.wait(ENDING_S) > 1", MP4),
    # The player.
    fault("export/player/payload.py", "(high - low) / STEPS or 1.0", "(high - low) / (STEPS + 2) or 1.0", PLAYER),
    fault("export/player/payload.py", "self._end += len(values)", "self._end += len(values) + 1", PLAYER),
    fault("export/player/payload.py", "[whole >> 8, whole & 255]", "[whole & 255, whole >> 8]", PLAYER),
    fault("export/player/player.py", '.replace("</", "<\\\\/")', "", PLAYER),
    # Tables, options, places.
    fault("export/tables.py", "run.log_density(run.particles)", "np.exp(run.log_density(run.particles))", TABLES),
    fault("files.py", "            part.unlink()\n", "            pass\n", EXPORT),
    fault("export/__init__.py", "free < needed + SPARE", "free < needed", EXPORT),
    fault("export/options.py", "name in wanted for name", "name not in wanted for name", OPTIONS),
    # Races.
    fault("export/film/race_film.py", "session.frame.visited < level and", "session.frame.visited <= level and", RACE),
    fault("export/film/race_film.py", "and session.frame.iteration < last[k]", "", RACE),
    fault("export/film/race_film.py", "seconds=self._seconds(k, session.frame.iteration)", "", RACE),
    fault("export/film/race_film.py", "[*range(0, end, self.look.every), end]", "[*range(0, end, self.look.every)]", RACE),
    fault("export/film/race_film.py", ", self.result.budget)  # a long last", ", 10**9)  # a long last", RACE),
    fault("export/player/race_player.py", 'side="right"', 'side="left"', RACE),
    fault("export/film/tiles_panel.py", 'dots["size"] ** 2', 'dots["size"]', RACE),
    fault("export/film/tiles_panel.py", "colours[k], \"linewidth\"", "colours[0], \"linewidth\"", RACE),
    fault("export/film/race_traces_panel.py", "style.ENTRANT_DASHES[k]", "style.ENTRANT_DASHES[0]", RACE),
    fault("export/film/palette.py", "if line.tobytes() not in layers", "if line.tobytes() in layers", RACE),
    fault("export/tables.py", "masses[:, k]", "masses[:, 0]", RACE),
    fault("experiments/race/recipe.py", "[one.text for one in self.entrants],", "[one.label for one in self.entrants],", RECIPE),
    fault("experiments/race/recipe.py", "if self.seeds != tuple", "if self.seeds == tuple", RECIPE),
    fault("scenes/words.py", "iteration {count(frame.iteration)}", "iteration {count(frame.visited)}", WORDS),
]  # fmt: skip
