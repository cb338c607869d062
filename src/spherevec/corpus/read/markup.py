"""The text of web pages and of e-mails, taken out by the standard library's own readers."""

from __future__ import annotations

import codecs
import email
import email.policy
import mailbox
import re
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from spherevec.corpus.read.guard import guarded
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.streams import Meter, open_stream
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError

LONGEST_FILE = 1 << 26
EMAIL_FIELDS = ("path", "subject", "from", "to", "cc", "date", "message-id")
HTML_FIELDS = ("path", "title")
_SILENT = {"script", "style", "template", "noscript", "svg", "head"}
# Tags that do not part words.
_INLINE = {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "mark", "s", "small", "span", "strong"}
_INLINE |= {"sub", "sup", "tt", "u", "wbr"}
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)


class _PageText(HTMLParser):
    """Collects what a reader would see, and the title."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._silent: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag == "body":  # a head that nobody closed ends here
            self._silent.clear()
        elif tag in _SILENT:
            self._silent.append(tag)
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        if tag not in _INLINE:
            self.parts.append(" ")

    def parse_html_declaration(self, i: int) -> int:
        """`<![if …]>` and the like are comments, as browsers have it; some releases of Python raise AssertionError."""
        if self.rawdata.startswith("<![", i):
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._silent:
            self.parts.append(data)


def html_text(page: str) -> tuple[str, str]:
    """The title of a web page, and its text without scripts and styles.

    >>> html_text("<title>News</title><p>One<b>two</b><script>x()</script><p>three &amp; four")
    ('News', 'Onetwo three & four')
    """
    parser = _PageText()
    parser.feed(page)
    parser.close()
    return " ".join("".join(parser.title).split()), " ".join("".join(parser.parts).split())


def html_rows(path: Path, name: str, options: ReadOptions, meter: Meter) -> Iterator[Row]:
    """A web page as one document; its text begins with its title."""
    title, text = html_text(_decoded(path, _content(path, meter), options.encoding))
    yield _row(f"{title}\n{text}" if title else text, title, {"path": name, "title": title}, options, str(path))


def email_rows(path: Path, name: str, options: ReadOptions, meter: Meter) -> Iterator[Row]:
    """A mail (.eml) as one document."""
    yield _email_row(email.message_from_bytes(_content(path, meter), policy=_policy()), name, options, str(path), 1)


def mbox_rows(path: Path, options: ReadOptions, meter: Meter) -> Iterator[Row]:
    """A mailbox file, one document a mail."""

    def parsed(file: Any) -> Any:
        return email.message_from_binary_file(file, policy=_policy())

    with guarded(path):
        if not path.is_file() or path.suffix.lower() != ".mbox":
            raise CorpusError(f"{path}: a mailbox is read as it is; unpack it first")
        box = mailbox.mbox(path, factory=parsed, create=False)
        try:
            for number, message in enumerate(box, 1):
                yield _email_row(message, f"{path.name}:{number}", options, f"{path}, mail {number}", number)
        finally:
            box.close()
    meter.done += path.stat().st_size


def _email_row(message: Any, name: str, options: ReadOptions, place: str, number: int) -> Row:
    assert isinstance(message, EmailMessage)
    headers: dict[str, Any] = {"path": name}
    for field in EMAIL_FIELDS[1:]:
        headers[field] = _header(message, field)
    if headers["date"]:
        try:
            headers["date"] = parsedate_to_datetime(headers["date"])
        except (ValueError, TypeError, OverflowError):
            headers["date"] = None
    subject = headers["subject"] or ""
    text = _body(message)
    return _row(f"{subject}\n{text}" if subject else text, subject, headers, options, place, number)


def _row(text: str, title: str, fields: dict[str, Any], options: ReadOptions, place: str, number: int = 1) -> Row:
    chosen = options.fields(list(fields), place, text_known=True)
    if chosen.text:
        raise CorpusError(f"{place}: its text is known; leave out text_field {chosen.text!r:.40}")
    return Row(
        text,
        None if chosen.id is None else fields[chosen.id],
        title if chosen.title is None else fields[chosen.title],
        [fields[one] for one in chosen.keep],
        number,
    )


def _header(message: EmailMessage, name: str) -> str | None:
    try:
        value = message[name]
    except Exception:  # the library's parser of addresses fails on some broken ones
        return None
    return None if value is None else " ".join(str(value).split())


def _body(message: EmailMessage) -> str:
    """The plain text of a mail, or what its web page says."""
    try:
        part = message.get_body(("plain", "html"))
        content = part.get_content() if part is not None else ""
    except (LookupError, ValueError, KeyError, AttributeError):  # an unknown charset, a broken attachment
        payload = message.get_payload(decode=True)
        return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    if not isinstance(content, str):
        return ""
    return html_text(content)[1] if part is not None and part.get_content_subtype() == "html" else content


def _policy() -> Any:
    return email.policy.default


def _content(path: Path, meter: Meter) -> bytes:
    with guarded(path), open_stream(path, meter) as stream:
        content = stream.read(LONGEST_FILE + 1)
    if len(content) > LONGEST_FILE:
        raise CorpusError(f"{path}: longer than {LONGEST_FILE >> 20} MB; split it into several")
    return content


def _decoded(path: Path, content: bytes, encoding: str) -> str:
    """A page as text: by its byte order mark, by what it says of itself, or by `encoding`."""
    declared = _CHARSET.search(content[:4096])
    if content.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif declared and encoding == "utf-8":
        encoding = declared[1].decode("ascii")
    try:
        return content.decode(encoding)
    except (LookupError, UnicodeError):
        raise CorpusError(f"{path}: not valid {encoding:.40}; name the file's encoding (encoding=NAME)") from None
