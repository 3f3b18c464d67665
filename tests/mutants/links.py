"""Planted faults in what a link, a file or a long log of changes may cost the others of a server."""

from tests.mutants.views import fault

LINKS, RECIPES, PAGES = "tests/test_links.py", "tests/test_recipe.py", "tests/test_pages.py"
LIMITS, FILES = "tests/lab/test_limits.py", "tests/lab/test_recipe_file.py"
LAB, RESOURCES = "tests/lab/test_lab.py", "tests/test_resource_bundle.py"
REPLAY, POOL, TEMPORARY = "tests/lab/test_replay.py", "tests/lab/test_pool.py", "tests/lab/test_temporary.py"

MUTANTS = [
    # What is read, and where.
    fault("links.py", "    if length > LONGEST:", "    if False:", LINKS),
    fault(
        "recipe_link.py",
        '    if len(text) > LARGEST:\n        raise InputError(f"a link has',
        '    if False:\n        raise InputError(f"a link has',
        LINKS,
    ),
    fault("recipe_input.py", "    if len(pairs) > most_changes():", "    if False:", RECIPES),
    fault("recipe_input.py", 'text.decode("utf-8-sig") if isinstance(text, bytes) else text', "text", RECIPES),
    fault("knobs.py", 'not raw.isascii() or "_" in raw', "not raw.isascii()", RECIPES),
    fault("knobs.py", 'not raw.isascii() or "_" in raw', '"_" in raw', RECIPES),
    fault(
        "recipe.py",
        "            now = now.changed(change)\n            yield now",
        "            yield self.knobs_at(_)",
        RECIPES,
    ),
    fault("lab/limits.py", 'keep_changes(limit("max_changes") or DEFAULT_CHANGES)', "pass", LIMITS),
    fault("lab/limits.py", "@lru_cache(maxsize=16)\n", "", LIMITS),
    fault("lab/recipe_file.py", "self._begin(OPENING, content=content)", "Recipe.from_json(content)", FILES),
    fault("spare.py", 'if {"run", "preset"} & arguments.keys() else None', "if False else None", PAGES),
    fault("spare.py", "1 if somebody else limit", "limit", PAGES),
    fault("spare.py", "            if _is_wanted():\n", "            if True:\n", PAGES),
    fault("pages.py", " and arguments.keys() <= OF_A_RUN", "", PAGES),
    fault("lab/laboratory.py", "self.sharing = sharing  # not before", "sharing = sharing  # not before", LAB),
    fault("resource_bundle.py", "if key not in _known:", "if not _known:", RESOURCES),
    fault("pages.py", "        return error\n\n\ndef _checked", "        return None\n\n\ndef _checked", PAGES),
    # Replays.
    fault("lab/pool.py", "        elif made.after is None:", "        elif True:", REPLAY),
    fault("lab/replay.py", "return Again(after=self._turn)", "pass", REPLAY),
    fault("lab/replay.py", "_replays.pop(key, None) or Replay(iteration, runner)", "Replay(iteration, runner)", REPLAY),
    fault("lab/replay.py", "total > MEMORY_CAP", "False", REPLAY),
    fault("lab/replay.py", "len(kept) > MOST_KEPT or ", "", REPLAY),
    fault(
        "lab/replay.py",
        "            runner.take(self._runner)",
        "            runner.session = self._runner.session",
        REPLAY,
    ),
    fault("lab/replay.py", "if not (self._arrived or self.too_long):", "if not self._arrived:", REPLAY),
    fault(
        "lab/runner.py",
        "self.session, self._events = other.session.copy(), [*other._events]",
        "self.session = other.session.copy()",
        REPLAY,
    ),
    fault(
        "session.py",
        "twin._rng, twin._batches = copied(self._rng), self._batches.copy()",
        "twin._batches = self._batches.copy()",
        REPLAY,
    ),
    fault(
        "session.py",
        "twin.history, twin._kept = self.history.copy(), self._kept.copy()",
        "twin.history = self.history.copy()",
        REPLAY,
    ),
    # Temporary files.
    fault("lab/temporary.py", "                _hold(owner)\n", "", TEMPORARY),
    fault("lab/temporary.py", "            _hold(_owner)\n", "", TEMPORARY),
    fault("serving.py", "    temporary.remove()\n", "", TEMPORARY),
]
