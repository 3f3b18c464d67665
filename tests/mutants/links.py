"""Planted faults in what a link, a file or a long log of changes may cost the others of a server."""

from tests.mutants.views import fault

LINKS, RECIPES, PAGES = "tests/lab/test_links.py", "tests/engine/test_recipe.py", "tests/serve/test_pages.py"
LIMITS, FILES = "tests/lab/test_limits.py", "tests/lab/test_recipe_file.py"
LAB, RESOURCES = "tests/lab/test_lab.py", "tests/serve/test_resource_bundle.py"
REPLAY, POOL, TEMPORARY = "tests/lab/test_replay.py", "tests/lab/test_pool.py", "tests/lab/test_temporary.py"

MUTANTS = [
    # What is read, and where.
    fault("lab/links.py", "    if length > LONGEST:", "    if False:", LINKS),
    fault(
        "engine/recipe/link.py",
        '    if len(text) > LARGEST:\n        raise InputError(f"a link has',
        '    if False:\n        raise InputError(f"a link has',
        LINKS,
    ),
    fault("engine/recipe/parts.py", "    if len(pairs) > most_changes():", "    if False:", RECIPES),
    fault("engine/recipe/parts.py", 'text.decode("utf-8-sig") if isinstance(text, bytes) else text', "text", RECIPES),
    fault("knobs.py", 'not raw.isascii() or "_" in raw', "not raw.isascii()", RECIPES),
    fault("knobs.py", 'not raw.isascii() or "_" in raw', '"_" in raw', RECIPES),
    fault(
        "engine/recipe/recipe.py",
        "            now = now.changed(change)\n            yield now",
        "            yield self.knobs_at(_)",
        RECIPES,
    ),
    fault("lab/loop/limits.py", 'keep_changes(limit("max_changes") or DEFAULT_CHANGES)', "pass", LIMITS),
    fault("lab/loop/limits.py", "@lru_cache(maxsize=16)\n", "", LIMITS),
    fault("lab/controls/recipe_file.py", "self._begin(OPENING, content=content)", "Recipe.from_json(content)", FILES),
    fault("serve/prebuilt.py", 'if {"run", "preset"} & arguments.keys() else None', "if False else None", PAGES),
    fault("serve/prebuilt.py", "1 if somebody else limit", "limit", PAGES),
    fault("serve/prebuilt.py", "            if _is_wanted():\n", "            if True:\n", PAGES),
    fault("serve/pages.py", " and arguments.keys() <= OF_A_RUN", "", PAGES),
    fault("lab/pages/laboratory.py", "self.sharing = sharing  # not before", "sharing = sharing  # not before", LAB),
    fault("serve/resource_bundle.py", "if key not in _known:", "if not _known:", RESOURCES),
    fault("serve/pages.py", "        return error\n\n\ndef _checked", "        return None\n\n\ndef _checked", PAGES),
    # Replays.
    fault("lab/loop/pool.py", "        elif made.after is None:", "        elif True:", REPLAY),
    fault("lab/loop/replay.py", "return Again(after=self._turn)", "pass", REPLAY),
    fault(
        "lab/loop/replay.py",
        "_replays.pop(key, None) or Replay(iteration, runner)",
        "Replay(iteration, runner)",
        REPLAY,
    ),
    fault("lab/loop/replay.py", "total > MEMORY_CAP", "False", REPLAY),
    fault("lab/loop/replay.py", "len(kept) > MAX_KEPT or ", "", REPLAY),
    fault(
        "lab/loop/replay.py",
        "            runner.take(self._runner)",
        "            runner.session = self._runner.session",
        REPLAY,
    ),
    fault("lab/loop/replay.py", "if not (self._arrived or self.too_long):", "if not self._arrived:", REPLAY),
    fault(
        "lab/loop/runner.py",
        "self.session, self._events = other.session.copy(), [*other._events]",
        "self.session = other.session.copy()",
        REPLAY,
    ),
    fault(
        "engine/session.py",
        "twin._rng, twin._batches = copied(self._rng), self._batches.copy()",
        "twin._batches = self._batches.copy()",
        REPLAY,
    ),
    fault(
        "engine/session.py",
        "twin.history, twin._kept = self.history.copy(), self._kept.copy()",
        "twin.history = self.history.copy()",
        REPLAY,
    ),
    # Temporary files.
    fault("lab/loop/temporary.py", "                _hold(owner)\n", "", TEMPORARY),
    fault("lab/loop/temporary.py", "            _hold(_owner)\n", "", TEMPORARY),
    fault("serve/server.py", "    temporary.remove()\n", "", TEMPORARY),
]
