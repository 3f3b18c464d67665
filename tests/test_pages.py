"""Served pages, without a server: what a process keeps of them, and what they say."""

import panel as pn

from pmdviz.pages import lab_page


def watchers_on_the_process():
    """How many watch the state that all sessions share (Panel has no public way to ask)."""
    return sum(len(watchers) for what in pn.state._param__private.watchers.values() for watchers in what.values())


def test_a_page_leaves_no_watcher_on_the_state_of_the_process():
    lab_page()
    before = watchers_on_the_process()
    lab_page()
    assert watchers_on_the_process() == before
