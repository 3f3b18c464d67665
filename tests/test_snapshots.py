from difflib import unified_diff

from tests.support.snapshot import FOLDER, RENEW, snapshots


def test_the_public_surface_is_the_one_that_review_has_seen():
    """Signatures, commands and tables are those of tests/snapshots/, whose diff shows what a user will notice."""
    changed = []
    for file, text in snapshots().items():
        kept = (FOLDER / file).read_text(encoding="utf-8")
        changed += unified_diff(kept.splitlines(), text.splitlines(), file, "now", lineterm="", n=0)
    assert not changed, "\n".join([f"if this is meant, renew it by `{RENEW}`:", *changed[:60]])
