"""Lessons of one's own stand beside ours; one that is none is left out, with a sentence, and breaks nothing."""

import logging
import os

import pytest

from pmdviz.lessons import reading as catalogue
from pmdviz.lessons.reading import FOLDER, own_folder, with_own
from tests.lessons.samples import SMALL
from tests.support.tables import refused


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.md").write_text(SMALL, encoding="utf-8-sig")  # as some editors do
    (tmp_path / "one_step.md").write_text(SMALL, encoding="utf-8")
    (tmp_path / "broken.md").write_text("no lesson", encoding="utf-8")
    (tmp_path / "picture.md").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(tmp_path / "pipe.md")  # to be read, it would be waited for without end
    (tmp_path / "notes.txt").write_text("not looked at", encoding="utf-8")
    return tmp_path


def test_what_is_no_lesson_is_left_out_with_a_sentence(folder, caplog, monkeypatch):
    monkeypatch.setenv(FOLDER, str(folder))
    with caplog.at_level(logging.WARNING):
        found = catalogue._loaded()
    assert found["mine"].title == "A small lesson" and found["one_step"].title == "One step, opened up"
    assert set(found) - set(catalogue.LESSONS) == {"mine"} and [*found][-1] == "mine"  # without a position: last
    said = " | ".join(record.getMessage() for record in caplog.records)
    assert "lesson broken.md is left out: lesson 'broken' must begin with a YAML block" in said
    assert "lesson one_step.md is left out: there is a lesson 'one_step' already" in said
    assert "lesson picture.md is left out" in said and "it is not text in UTF-8" in said and "notes" not in said


def test_without_a_folder_there_are_ours_alone_and_what_is_none_is_refused(monkeypatch, caplog, folder):
    monkeypatch.delenv(FOLDER, raising=False)
    assert own_folder() is None and with_own({}, None) == {} and [*catalogue._loaded()] == [*catalogue.LESSONS]
    monkeypatch.setenv(FOLDER, "/no/such/folder")
    with caplog.at_level(logging.WARNING):
        assert [*catalogue._loaded()] == [*catalogue.LESSONS]
    assert "'/no/such/folder'" in caplog.text
    monkeypatch.setenv(FOLDER, "")  # so that what the server sets is taken back, and no later test serves it
    monkeypatch.setattr(catalogue, "LESSONS", dict(catalogue.LESSONS))
    catalogue.offer_lessons(str(folder))
    assert own_folder() == folder and catalogue.find_lesson("mine").title == "A small lesson"
    refused("must be a folder", catalogue.offer_lessons, str(folder / "mine.md"))
    monkeypatch.setenv(FOLDER, "")
    catalogue.offer_lessons(None)
    assert own_folder() is None
