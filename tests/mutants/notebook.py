"""Planted faults in the lab as a widget."""

from tests.mutants.engine import fault

NOTEBOOK = "tests/lab/test_notebook.py::test_"
SET = NOTEBOOK + "what_is_set_in_python_is_in_the_next_frame_and_on_the_slider"
MOVED = NOTEBOOK + "a_cell_that_is_moved_goes_on"
FREED = NOTEBOOK + "a_lab_that_nobody_has_is_freed"
AGAIN = NOTEBOOK + "a_page_taken_away_ends_and_can_be_shown_again"
SENT = NOTEBOOK + "changes_are_sent_but_not_back_to_where_they_came_from"
SHEETS = NOTEBOOK + "sheets_become_part_of_the_document_and_widths_those_of_the_cell"
PACE = NOTEBOOK + "the_still_picture_follows_at_its_own_pace"

MUTANTS = [
    fault("pmdviz/lab/notebook/widget.py", "if event.setter is not self:", "if event.setter is self:", SENT),
    fault("pmdviz/lab/notebook/widget.py", "elif view != self._view or", "elif", MOVED),
    fault("pmdviz/lab/notebook/widget.py", "self._page = weakref.ref(page)", "self._page = lambda: page", FREED),
    fault("pmdviz/lab/notebook/notebook.py", "if view == self._views:", "if True:", MOVED),
    fault("pmdviz/lab/notebook/notebook.py", "self.screen.sender.live(False)", "pass", AGAIN),
    fault("pmdviz/lab/notebook/scripts.py", "text = SHEET.sub(", "SHEET.sub(", SHEETS),
    fault("pmdviz/lab/notebook/still.py", "self._at + EVERY_S - time.monotonic()", "0.0", PACE),
    fault("pmdviz/lab/pages/laboratory.py", "self.live.runner.set(values, kind)\n", "pass\n", SET),
]
