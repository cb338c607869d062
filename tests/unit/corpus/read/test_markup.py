"""Web pages and mails: the text that Python's own parser finds, in time that grows with their size and no faster."""

import codecs
import email
import email.policy
import gzip
import os
import time
from email.header import Header
from email.utils import formataddr
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import grows
from spherevec.corpus import encode, read_documents
from spherevec.corpus.read import markup
from spherevec.corpus.read.markup import html_text
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.streams import InputFile
from spherevec.errors import CorpusError


class Oracle(HTMLParser):
    """The text of a page by Python's parser."""

    # As every Python had it until 2025: later releases read a title without an end up to the end of the page.
    CDATA_CONTENT_ELEMENTS = ("script", "style")  # type: ignore[misc]
    RCDATA_CONTENT_ELEMENTS = ()  # type: ignore[misc]

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.page = markup._PageText()

    def handle_starttag(self, tag, attrs):
        self.page.tag(tag, False)

    def handle_endtag(self, tag):
        self.page.tag(tag, True)

    def handle_startendtag(self, tag, attrs):
        self.page.tag(tag, False, True)

    def handle_data(self, data):
        if self.cdata_elem is None:  # no script
            self.page.text(data)


def by_oracle(page):
    parser = Oracle()
    parser.feed(page)
    parser.close()
    return " ".join("".join(parser.page.title).split()), " ".join("".join(parser.page.parts).split())


PIECES = ["<p>", "</p>", "<b class='x'>", "</b>", "<br/>", '<a href="a>b">', "</a>", "<svg>", "</svg>", "<template>",
          "</template>", "<head>", "</head>", "<title>", "</title>", "<body>", "<!-- a <b> -- -->", "<!DOCTYPE html>",
          "<td a=1 b>", "one", "two &amp; three", "&lt;", " ", "\n", "x > y", "<noscript>", "</noscript>",
          "<script>if (a<b) { '</p>' }</script>", "<style>p > a {}</style>", "<svg/>", "<svg x='1' />", "<style/>",
          "<script src='a'/>", "<meta x>", "<script src=a/>b</script>"]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_pages_have_the_text_that_pythons_parser_finds(page):
    assert html_text(page) == by_oracle(page)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a < b", "a < b"),
        ("a <b", "a <b"),
        ("<p>a <b x='", "a <b x='"),
        ('<p>a <b x="1>c</p>d', "a c d"),
        ("a<!-- b", "a"),
        ("a<!-->b", "ab"),
        ("<script>x", ""),
        ("&#99999999999999999999; a", "a"),
        ("<![if x]>a<![endif]>", "a"),
        ("<p>a<svg width='1'/>b<script src='c'/>d", "a b d"),
        ("<script src=a/>b</script>c", "c"),
        ("<head><title>T</title><meta x><p>a", "a"),
        ("<head><title>T</title> a", "a"),
        ("a<![CDATA[b < c]]>d", "ab < cd"),
        ("a<![CDATA[b", "ab"),
    ],
)
def test_broken_pages(page, text):
    assert html_text(page)[1] == text


def parsed(mail):
    """A mail as `email_rows` reads it."""
    file = InputFile(Path("a.eml"), "a.eml", ReadOptions())
    file.content = lambda longest: mail.encode()  # type: ignore[method-assign]
    try:
        return list(markup.email_rows(file))
    except CorpusError:
        return []


def nested_parts(depth):
    return "".join(f"Content-Type: multipart/mixed; boundary=b{i}\n\n--b{i}\n" for i in range(depth))


def body_by_oracle(mail):
    """The text of a mail by Python's own parser: its first plain text that is not blank, or its page."""
    message = email.message_from_string(mail, policy=email.policy.default)
    while True:
        found = message.get_body(("plain", "html"))
        part = message if found is None else found  # a part without headers is false
        text = part.get_payload(decode=True).decode() if part.get_content_maintype() == "text" else ""
        if part.get_content_subtype() == "html":
            return html_text(text)[1]
        if found is None or text.strip():
            return text
        del found["Content-Disposition"]
        found["Content-Disposition"] = "attachment"  # looked over next time


KINDS = ["text/plain", "text/html", "text/enriched", "image/png", "message/rfc822", "multipart/mixed", "x"]
DISPOSITIONS = ["", "", "Content-Disposition: attachment; filename=a\n", "Content-Disposition: inline\n"]
BODIES = ["one <b>two</b>\n", "", "\nthree\n\nfour", "--\n--b\n", "\n--b9 x\n", "Subject: five\n\nsix"]


@st.composite
def mails(draw, depth=0):
    """Parts within parts, some of them without a type, an end or a line that begins them."""
    if depth == 3 or draw(st.booleans()):
        kind = draw(st.sampled_from(["", *(f"Content-Type: {kind}\n" for kind in KINDS)]))
        return kind + draw(st.sampled_from(DISPOSITIONS)) + "\n" + draw(st.sampled_from(BODIES))
    subkind = draw(st.sampled_from(["mixed", "alternative", "related"]))
    parts = draw(st.lists(st.tuples(st.sampled_from(["", " "]), mails(depth + 1)), min_size=1, max_size=3))
    text = "before\n" + "".join(f"--b{depth}{space}\n{part}\n" for space, part in parts)
    end = draw(st.sampled_from(["", f"--b{depth}--\n", f"--b{depth}--\nafter\n--b{depth}\n\nseven"]))
    return f'Content-Type: multipart/{subkind}; boundary="b{depth}"\n\n' + text + end


@settings(max_examples=500)
@given(mails())
def test_mails_have_the_text_that_pythons_parser_finds(mail):
    found = markup._message_and_text(mail.encode(), "a.eml", ReadOptions())[1]
    assert found.split() == body_by_oracle(mail).split()


PAGES = ['<a x="', "<a", "<", "</", "<!--", "<![", "<?", "<svg>", "<script>", "<a x='", '<a =" ', "&", "&#1", "&#9",
         "<title>", "</svg", "<p x", '="', "<b/", "<a b=c ", "&amp", "-->", "<!", "<style></style", "<a\n",
         "<![CDATA[", "<svg/>", "<head>", "<head>a"]  # fmt: skip
MAILS = {
    "quotes": lambda n: 'To: "' + '"' * n,
    "brackets": lambda n: "Content-Type: text/plain" + "(" * n,
    "disposition": lambda n: "Content-Disposition: attachment" + "(" * n,
    "parameters": lambda n: "Content-Type: text/plain" + "; a=b" * n + "\n\nbody",
    "folded": lambda n: "Content-Type: text/plain" + ";\n a=b" * n + "\n\nbody",
    "addresses": lambda n: "Cc: " + "a@b.c, " * n,
    "words": lambda n: "Subject: " + "=?utf-8?q?a?= " * n,
    "punycode": lambda n: "Content-Type: text/plain; charset=punycode\n\n" + "ab-" * n,
    "page": lambda n: "Content-Type: text/html\n\n" + "<a" * n,
    "headers": lambda n: "X-A: b\n" * n + "\nbody",
    "lines in nested parts": lambda n: nested_parts(90) + "\n" * n,
    "spaces before nested parts": lambda n: nested_parts(n // 50).replace(": ", ":" + " " * 20) + "\n" * n,
    "carriage returns": lambda n: (nested_parts(n // 50) + "\n" * n).replace("\n", "\r"),
    "parts": lambda n: "Content-Type: multipart/mixed; boundary=b\n\n" + "--b\n\n" * n,
    "attachments": lambda n: (
        "Content-Type: multipart/mixed; boundary=b\n\n" + "--b\nContent-Type: image/png\n\nx\n" * n
    ),
    "delivery": lambda n: "Content-Type: message/delivery-status\n\n" + "A: b\n\n" * n,
    "multiparts": lambda n: nested_parts(n),
    "messages": lambda n: "Content-Type: message/rfc822\n\n" * n,
}


@pytest.mark.parametrize("piece", PAGES)
def test_pages_take_time_in_proportion_to_their_size(piece):
    # A square would be 64 times as much.
    assert grows(html_text, lambda n: piece * n, 12_000) < 24
    assert grows(html_text, lambda n: piece * n + "</template>>", 12_000) < 24


@pytest.mark.parametrize("make", MAILS.values(), ids=list(MAILS))
def test_mails_take_time_in_proportion_to_their_size(make):
    assert grows(parsed, make, 4_000) < 24


HEADERS = ['"', ",", "a ", "a.", "=?utf-8?q?a?= ", "=?utf-8?q?a?=", "\\", "<", "(", "@", '"a" ', '"a" <', ", <", ', "',
           "a@b.c, ", "a:;", "[", "=?", "=?a?q?", "=?a?b?a?="]  # fmt: skip


def test_headers_take_the_time_of_plain_ones():
    def seconds(piece):
        value = (piece * 2000)[:1980]
        mail = (
            "".join(f"{name}: {value}\n" for name in ("Subject", "From", "To", "Cc", "Date", "Message-ID")) + "\nbody"
        )
        start = time.process_time()
        for _ in range(20):
            assert len(parsed(mail)) == 1
        return time.process_time() - start

    plain = min(seconds("a") for _ in range(3))
    # What else the machine does adds time, and never takes it away: one measurement of several is enough.
    assert {piece for piece in HEADERS if all(seconds(piece) > 20 * plain for _ in range(15))} == set()


@pytest.mark.parametrize("piece", HEADERS)
def test_long_headers_take_time_in_proportion_to_their_size(piece):
    assert grows(lambda value: parsed(f"Subject: {value}\nTo: {value}\n\nbody"), lambda n: piece * n, 4_000) < 24


NAMES = st.lists(st.text("aöß漢", min_size=1, max_size=40), min_size=1, max_size=3).map(" ".join)


@given(st.lists(NAMES, min_size=1, max_size=3), st.sampled_from(["utf-8", "utf-16", "ascii"]))
def test_headers_say_what_pythons_parser_finds(names, charset):
    addresses = ", ".join(formataddr((name, "a@site.org")) for name in names)
    raw = f"To: {addresses}\nFrom: <b@site.org>\nSubject: {Header(names[0], charset).encode()}\n\n"
    message = email.message_from_bytes(raw.encode())
    for name, value in message.raw_items():
        assert markup._header(name.lower(), value, ReadOptions()) == str(
            email.policy.default.header_fetch_parse(name, value)
        )


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ('"Lee, Ann" <a@b.c>, "Bo" <d@e.f>', '"Lee, Ann" <a@b.c>, Bo <d@e.f>'),
        (r'"Ann \"A\"" <a@b.c>', r'"Ann \"A\"" <a@b.c>'),
        ('"=?utf-8?q?J=C3=B6rg?=" <a@b.c>', "Jörg <a@b.c>"),
        ("=?utf-8*en?q?a_b?=\n =?UTF-8?B?Yw?= d", "a bc d"),
        ("=?utf-8?b?w?= =?x?q?a?= =?punycode?q?a-b?= =?\0?q?b?=", "=?utf-8?b?w?= aa-bb"),
        ('"' * 9, '"' * 9),
        ("=?utf-8?b?44K/44I=?= =?UTF-8?b?pOODiOODqw==?=", "タイトル"),  # one character in two words
        ("Ann " * 1000, ("Ann " * 1000).strip()),
    ],
)
def test_odd_headers(header, text):
    assert markup._header("from", header, ReadOptions()) == text


ROOT_NAMED = """Content-Type: multipart/related; boundary=b; start="<root>"

--b
Content-Type: image/png

x
--b
Content-Type: text/plain
Content-ID: <root>

the root
--b--
"""
PLAIN_PART_EMPTY = """Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain


--b
Content-Type: text/html

<p>the page
--b--
"""


@pytest.mark.parametrize(
    ("mail", "options", "text"),
    [
        (ROOT_NAMED.encode(), {}, "the root"),
        (PLAIN_PART_EMPTY.encode(), {}, "the page"),
        ("Subject: café\n\ncafé".encode("latin-1"), {}, "café café"),
        ("Subject: кофе\n\nкофе".encode("koi8-r"), {"encoding": "koi8-r"}, "кофе кофе"),
        (b"Content-Type: text/plain; charset=undefined\n\na", {}, "a"),
    ],
)
def test_text_that_is_easily_lost(tmp_path, mail, options, text):
    (tmp_path / "a.eml").write_bytes(mail)
    assert [found.split() for found in read_documents(tmp_path / "a.eml", **options)] == [text.split()]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>naïve charset=koi8-r".encode(), "naïve charset=koi8-r"),
        (codecs.BOM_UTF8 + b'<meta charset="iso-8859-1"><p>' + "naïve".encode(), "naïve"),
        (b"<meta charset=utf-16><p>naive", "naive"),
        ("<meta http-equiv='a' content='text/html; charset=koi8-r'><p>кофе".encode("koi8-r"), "кофе"),
        ('<?xml version="1.0" encoding="koi8-r"?><p>кофе'.encode("koi8-r"), "кофе"),
    ],
)
def test_pages_are_read_as_they_say(tmp_path, page, text):
    (tmp_path / "a.html").write_bytes(page)
    assert list(read_documents(tmp_path / "a.html")) == [text]


class TestMailboxes:
    def read(self, tmp_path, content):
        (tmp_path / "a.mbox").write_bytes(content)
        return [text.strip() for text in read_documents(tmp_path / "a.mbox")]

    def test_a_byte_order_mark_costs_no_mail(self, tmp_path):
        assert self.read(tmp_path, codecs.BOM_UTF8 + b"From a\n\none\nFrom b\n\ntwo\n") == ["one", "two"]

    @pytest.mark.parametrize("content", [b"a line\nFrom a\n\none\n", b"From a\r\rone\rFrom b\r\rtwo\r"])
    def test_text_before_the_first_mail_is_refused(self, tmp_path, content):
        with pytest.raises(CorpusError, match=r"a\.mbox: does not begin with a mail"):
            self.read(tmp_path, content)

    def test_none_can_be_read(self, tmp_path):
        with pytest.raises(
            CorpusError, match=r"holds 1 mail, none of which can be read; the first: .*, mail 1: over 10,000"
        ):
            self.read(tmp_path, b"From a\n" + MAILS["headers"](12_000).encode())

    def test_one_that_is_cut_short_meanwhile(self, tmp_path):
        path = tmp_path / "a.mbox"
        path.write_bytes(b"From a\n\n" + b"one\n" * 100_000 + b"From b\n\ntwo\n")
        mails = read_documents(path)
        next(mails)
        os.truncate(path, 100)
        with pytest.raises(CorpusError, match="changed while it was read"):
            list(mails)


@pytest.mark.parametrize("name", ["a.html.gz", "a.eml.gz", "a.mbox.gz"])
def test_a_few_bytes_that_stand_for_megabytes(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"From a\n\n" + b"\n" * 20_000_000))
    with pytest.raises(CorpusError, match=r"[\d,]+ bytes expand to .* set SPHEREVEC_MAX_EXPANSION higher"):
        list(read_documents(tmp_path / name))


def hostile_mails(folder):
    folder.mkdir()
    (folder / "good.eml").write_text("Subject: heron\n\nA heron stands in the reeds.\n")
    (folder / "nested.eml").write_text(MAILS["multiparts"](3000))
    (folder / "headers.eml").write_text(MAILS["headers"](12_000))
    return folder


class TestUnreadableDocuments:
    def test_are_skipped_with_a_note(self, tmp_path):
        with encode(hostile_mails(tmp_path / "in"), tmp_path / "out", min_count=1) as corpus:
            assert corpus.n_documents == 1
            assert [note.partition(";")[0] for note in corpus.summary.notes] == ["skipped 2 files"]

    def test_are_refused_if_asked(self, tmp_path):
        with pytest.raises(CorpusError, match=r"headers\.eml: over 10,000 headers"):
            list(read_documents(hostile_mails(tmp_path / "in"), strict=True))

    def test_the_only_one_is_refused(self, tmp_path):
        with pytest.raises(CorpusError, match=r"nested\.eml: no text among its first 100 parts"):
            list(read_documents(hostile_mails(tmp_path / "in") / "nested.eml"))

    def test_in_a_mailbox(self, tmp_path, monkeypatch):
        monkeypatch.setattr(markup, "LONGEST_MAIL", 1 << 18)
        mails = ["Subject: one\n\nfirst\n", "Subject: big\n\n" + "x" * (1 << 20), nested_parts(200), "\nlast\n"]
        box = tmp_path / "all.mbox"
        box.write_text("".join(f"From a@b.c Tue Mar  5\n{mail}\n" for mail in mails))
        assert [text.split() for text in read_documents(box)] == [["one", "first"], ["last"]]
        with pytest.raises(CorpusError, match=r"all\.mbox, mail 2: longer than"):
            list(read_documents(box, strict=True))

    def test_whatever_a_reader_raises_is_one_line(self, tmp_path, monkeypatch):
        page = tmp_path / "a.html"
        page.write_text("<p>text")
        for error in (RecursionError("deep"), OverflowError("large"), RuntimeError("native"), MemoryError()):

            def fails(text, error=error):
                raise error

            monkeypatch.setattr(markup, "html_text", fails)
            with pytest.raises(CorpusError, match=r"a\.html: (cannot be read|not enough memory)") as caught:
                list(read_documents(page))
            assert "\n" not in str(caught.value)
