"""Files that somebody might bring as a table: whatever a browser can send under the name of a CSV file."""

import bz2
import gzip
import io
import lzma
import pickle
import random
import zipfile

import numpy as np

GOOD = "height,weight\n170,65\n180,80\n165.5,61\n"
FORMULAS = (
    "=cmd|'/C calc'!A0", "=1+1", "-2+3", "@SUM(A1:A9)", '=HYPERLINK("http://x","y")', "=IMPORTXML(1)",
    "__import__('os').system('id')", "{{7*7}}", "%s%n%x", "'; DROP TABLE runs; --", "../../etc/passwd",
)  # fmt: skip
NAMES = (
    "<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "\u202eevil", "zero\u200bwidth", "a\u0301" * 30,
    "\U0001f600", "عمود", "列", "name\u2028line", "x" * 5000, "NaN", "inf", "1_000", "1e400", "\u0661\u0662", "#",
    "\ufeff", "a,b", "javascript:alert(1)", "\\u0000", "\x7f", "con", "\ud800", "\udfff\ud800", " ", "\u00a0",
)  # fmt: skip
NUMBERS = (
    "1e400", "-1e999", "9" * 400, "1" * 199, "0x1p3", "1__0", "１２", "1e", "--1", "1.2.3", "NaN", "-inf", "1,5", "∞",
    "½", "0" * 199, "1 000", "1'000", "٣", "1j", "True", "5e-324", "-0",
)  # fmt: skip


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was opened')",)


def saved(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def zipped(content):
    def write(file):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.csv", content)

    return saved(write)


def other_files():
    zeros = b"0" * 2_000_000
    yield from (zipped(GOOD), zipped(zeros), gzip.compress(zeros), bz2.compress(zeros), lzma.compress(zeros))
    yield from (pickle.dumps(Bomb(), protocol) for protocol in range(6))
    yield saved(lambda file: np.save(file, np.eye(3)))
    yield saved(lambda file: np.save(file, np.array([Bomb()], object), allow_pickle=True))
    yield from (b"%PDF-1.7\n1 0 obj", b"\x89PNG\r\n\x1a\n" + bytes(99), b"\x7fELF" + bytes(60), b"PAR1" + bytes(9))
    yield from (b"SQLite format 3\x00", b"{}", b'{"a": [1, 2]}', b"[1, 2, 3]", b"<html><body onload=alert(1)>")
    yield from (b"#!/bin/sh\nrm -rf /\n", b"import os\nos.abort()\n", b"!!python/object/apply:os.abort []\n")


def encodings():
    """A good table in encodings of which some are not meant for it, and bytes that are none."""
    for name in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp1252", "cp037"):
        yield GOOD.replace("height", "hauteur").encode(name)
    good = GOOD.encode()
    yield from (b"\xff\xfe" + good, b"\xfe\xff" + good, b"\xff\xfe\x00", b"\xef\xbb\xbf", b"\xef\xbb\xbf" * 3 + good)
    yield from (
        b"\xc3\x28,\xa0\xa1\n1,2\n",
        b"\xed\xa0\x80\n1\n",
        b"caf\xe9\n1\n",  # codespell:ignore
        bytes(range(256)),
    )


def shapes():
    """Tables that are too large, too wide or ragged, and texts without one."""
    yield from ("", " ", "\n" * 1000, ",", ",,,\n,,,", "\t\t", "a", "a,b", "1", "a\n", "a,b\n\n\n", "\r\r\r", "\r\n")
    yield from ("1," * 999_999 + "1", "1," * 199 + "1", "1," * 200 + "1", "a," * 300 + "a\n" + "1," * 300 + "1")
    yield from ("1\n" * 99_999, "1\n" * 100_001, "1\n" * 1_900_000, "\n" * 3_900_000, "1,2\n" * 3 + "1\n", "1\n1,2\n")
    yield from ("a,b\n1,2,3\n", "a,b,c\n1,2\n", "1;2,3\n4,5;6\n", "1\t2,3\n1,2\t3\n", "a;b\n1,5;2\n", "1, 2\n3 ,4")
    yield from ("1" * 3_900_000, "1" * 5_000_000, "x" * 201, "é" * 3_000_000, "a" * 3_900_000 + "\n1")


def quotes():
    yield from ('"' * 10_000_000, '"' * 3_900_001, '"a\n1', '"a"b\n1', 'a"b"\n1', '""""\n1', '"1","2"\n"3","4"')
    yield from ('"a\nb",c\n1,2\n', '"a,b",c\n1,2\n', "'a,b',c\n1,2\n", '"' + "1\n" * 50_000, '\\"a\n1\n', 'a,"\n1,2\n')


def controls():
    for code in (0, 1, 7, 8, 11, 12, 14, 27, 28, 31, 127, 0x80, 0x85, 0x9F, 0x200E, 0x2029, 0xFFFE):
        yield f"a{chr(code)}b\n1\n2\n"
        yield f"a\n1{chr(code)}\n2\n"


def random_texts():
    draw = random.Random(0)
    for size in (3, 10, 30, 100, 300, 1000) * 5:
        yield "".join(draw.choices('01.,;\t|"\n\r e-+aé=\u202e', k=size))
        yield bytes(draw.choices(range(256), k=size))


def hostile_files():
    cells = [f"{one}\n1\n2\n" for one in (*FORMULAS, *NAMES)] + [f"a\n1\n{one}\n" for one in (*FORMULAS, *NUMBERS)]
    families = (other_files(), encodings(), shapes(), quotes(), controls(), random_texts(), cells)
    return [one for family in families for one in family]
