"""The text of web pages and of e-mails, in time that grows with their size and no faster, whatever they hold."""

from __future__ import annotations

import binascii
import codecs
import html
import re
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from spherevec.corpus.read.options import AUTO, ReadOptions
from spherevec.corpus.read.streams import InputFile, UnreadableError, found_encoding, guarded, open_stream, unchanged
from spherevec.corpus.read.tables import make_row
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError
from spherevec.terminal import number_of

LONGEST_FILE = 1 << 26
LONGEST_MAIL = 1 << 24
EMAIL_FIELDS = ("subject", "from", "to", "cc", "date", "message-id")
_SILENT = {"script", "style", "template", "noscript", "svg", "head"}
_RAW = {"script", "style"}  # what they hold is no markup
_IN_HEAD = {"head", "title", "meta", "link", "base", "script", "style", "template", "noscript"}
# Tags that do not part words.
_INLINE = {"a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "mark", "s", "small", "span", "strong"}
_INLINE |= {"sub", "sup", "tt", "u", "wbr"}
_CHARSET = re.compile(
    rb"(?:<meta\s[^>]{0,200}?charset|\A<\?xml\s[^>]{0,200}?encoding)\s{0,9}=\s{0,9}[\"']?\s{0,9}([A-Za-z0-9_.:-]+)",
    re.IGNORECASE,
)
# The first two take time that grows with the square of the text, the last one only raises errors.
_UNUSABLE_CHARSETS = ("punycode", "idna", "undefined")

_MARKUP = re.compile(r"<(?:(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*)|(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|[!?/])")
_TAG_END = re.compile(r">|=[ \t\n\r\f]*([\"'])")
_LONG_NUMBER = re.compile(r"&#[0-9]{8,};?")

# Python's parsers of headers take time that grows with the square of their length, and recurse into comments; the one
# of addresses is not used at all, and headers that are only decoded may be long.
_LONGEST_HEADER = 2000  # bytes
_DECODED_ONLY = {b"subject", b"from", b"to", b"cc"}
_MOST_HEADERS = 10_000
_MOST_PARTS = 100  # that are looked at: the text of a mail is among the first
_HEADER_PARSER = BytesHeaderParser()
_HEADER = re.compile(rb"^([^\s:]+):[^\n]*(?:\n[ \t][^\n]*)*", re.MULTILINE)
# RFC 2047; the space between two of them is none.
_ENCODED_WORD = re.compile(r"=\?([^?\s*]++)[^?\s]*+\?([BbQq])\?([^?]*+)\?=")
_ENCODED_WORDS = re.compile(r"=\?[^?\s]++\?[BbQq]\?[^?]*+\?=(?:\s++=\?[^?\s]++\?[BbQq]\?[^?]*+\?=)*+")
# Of addresses: the quotes of "Ann Lee" <ann@site.org>, the brackets of <ann@site.org>.
_NEEDLESS_SIGNS = re.compile(r'(?:^|(?<=, ))(?:"([^".,:;@<>()\[\]\\]+)"(?= *<)|<([^<>\s,]+)>(?=,|$))')


class _PageText:
    """Collects what a reader of a page would see, and its title."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.title: list[str] = []
        self._silent: dict[str, None] = {}  # open tags whose text is not shown, outermost first
        self._in_title = False

    def tag(self, name: str, ends: bool, empty: bool = False) -> None:
        """Args: empty: it ends where it begins, as <svg/> does."""
        if not ends and (name == "body" or (name not in _IN_HEAD and [*self._silent] == ["head"])):
            self._silent.clear()  # a head that nobody closed ends here, or with its first text
        if name == "title":
            self._in_title = not ends and not self.title
        elif name in _SILENT and not ends:
            if not empty:
                self._silent.setdefault(name)
        elif name in self._silent:
            while self._silent.popitem()[0] != name:
                pass
        if name not in _INLINE:
            self.parts.append(" ")

    def text(self, text: str) -> None:
        if self._in_title:
            self.title += [text] if text else []
            return
        if text and not text.isspace() and [*self._silent] == ["head"]:
            self._silent.clear()
        if not self._silent:
            self.parts.append(text)


def html_text(page: str) -> tuple[str, str]:
    """The title of a web page, and its text without scripts and styles.

    Each character is looked at a bounded number of times.

    >>> html_text("<title>News</title><p>One<b>two</b><script>x()</script><p>three &amp; four")
    ('News', 'Onetwo three & four')
    """
    found, at = _PageText(), 0
    last = {sign: page.rfind(sign) for sign in (">", '"', "'")}
    for _ in range(page.count("<") + 1):
        match = _MARKUP.search(page, at)
        if match is None or (match.end() > last[">"] and not match["comment"] and not match["cdata"]):
            # No tag ends from here on.
            found.text(_unescaped(page[at:]))
            break
        found.text(_unescaped(page[at : match.start()]))
        if match["comment"]:
            end = page.find("-->", match.start() + 2)
            at = len(page) if end < 0 else end + 3
            continue
        if match["cdata"]:
            end = page.find("]]>", match.end())
            found.text(page[match.end() : len(page) if end < 0 else end])
            at = len(page) if end < 0 else end + 3
            continue
        at = _tag_end(page, match.end(), last)
        if match["name"]:
            name, ends = match["name"].lower(), bool(match["end"])
            empty = not ends and name in _SILENT and _is_empty(page[match.start() : at])
            found.tag(name, ends, empty)
            if name in _RAW and not ends and not empty:
                closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, at)
                at = len(page) if closing is None else closing.start()
    return " ".join("".join(found.title).split()), " ".join("".join(found.parts).split())


def _tag_end(page: str, at: int, last: dict[str, int]) -> int:
    """The place behind the tag whose name ends at `at`; a > within quotes does not end it.

    Args:
        last: where the last >, " and ' of the page are.
    """
    while at <= last[">"]:
        match = _TAG_END.search(page, at)
        assert match is not None
        if match[1] is None:
            return match.end()
        # A quote that is never closed is none.
        at = page.find(match[1], match.end()) + 1 if match.end() <= last[match[1]] else match.end()
    return len(page)


def _is_empty(tag: str) -> bool:
    """Whether a tag ends itself, as <svg/> does; the / of <script src=a/> belongs to the value."""
    last = tag.rsplit(None, 1)[-1]
    return last.endswith("/>") and ("=" not in last or last[-3] in "\"'")


def _unescaped(text: str) -> str:
    return html.unescape(_LONG_NUMBER.sub(" ", text)) if "&" in text else text


def html_rows(file: InputFile) -> Iterator[Row]:
    """A web page as one document; its text begins with its title."""
    _check_fields(file, ("path", "title"))
    title, text = html_text(_page(file))
    yield _row(file, f"{title}\n{text}" if title else text, title, {"path": file.name, "title": title})


def email_rows(file: InputFile) -> Iterator[Row]:
    """A mail (.eml) as one document."""
    _check_fields(file, ("path", *EMAIL_FIELDS))
    yield _email_row(file, file.content(LONGEST_FILE), file.name)


def mbox_rows(file: InputFile) -> Iterator[Row]:
    """A mailbox file, one document a mail. A mail that cannot be read is skipped, or refused by `strict`."""
    _check_fields(file, ("path", *EMAIL_FIELDS))
    skipped: list[str] = []
    number, before, path = 0, file.meter.done, file.path
    with guarded(path), unchanged(path), open_stream(path, file.meter) as stream:
        for number, mail in enumerate(_mails(stream, path), 1):
            place = f"{path}, mail {number}"
            try:
                if len(mail) > LONGEST_MAIL:
                    raise UnreadableError(f"{place}: longer than {LONGEST_MAIL >> 20} MB; remove it")
                with guarded(place):
                    yield _email_row(file, mail, f"{path.name}:{number}", place, number)
            except UnreadableError as error:
                if file.options.strict:
                    raise
                skipped.append(str(error))
    if not number and file.meter.done > before:
        raise CorpusError(f"{path}: holds no mails, each of which begins with a line 'From …'")
    if number and len(skipped) == number:
        raise UnreadableError(
            f"{path}: holds {number_of(number, 'mail')}, none of which can be read; the first: {skipped[0]}"
        )
    if skipped:
        file.notes.append(f"skipped {number_of(len(skipped), 'mail')}; the first: {skipped[0]}")


def _mails(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """The mails of a mailbox. Of one that is too long a little more than is allowed is given."""
    held: list[bytes] | None = None
    size, begins_line = 0, True
    while line := stream.readline(1 << 16):
        if held is None:
            line = line.removeprefix(codecs.BOM_UTF8)
            if not line.isspace() and (not line.startswith(b"From ") or b"\r" in line.removesuffix(b"\n")[:-1]):
                raise CorpusError(
                    f"{path}: does not begin with a mail, whose first line is 'From …' and ends with a newline; remove "
                    "what stands before it"
                )
        if begins_line and line.startswith(b"From "):
            if held is not None:
                yield b"".join(held)
            held, size = [], 0
        elif held is not None:
            size += len(line)
            if size - len(line) <= LONGEST_MAIL:
                held.append(line)
        begins_line = line.endswith(b"\n")
    if held is not None:
        yield b"".join(held)


def _email_row(file: InputFile, content: bytes, name: str, place: str | None = None, number: int = 1) -> Row:
    place = place or str(file.path)
    mail = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    message, text = _message_and_text(mail, place, file.options)
    first: dict[str, str] = {}
    for key, value in message.raw_items():
        first.setdefault(key.lower(), value)
    shown = {field: _header(field, first.get(field), file.options) for field in EMAIL_FIELDS}
    headers: dict[str, Any] = {"path": name, **shown}
    if headers["date"]:
        try:
            headers["date"] = parsedate_to_datetime(headers["date"])
        except (ValueError, TypeError, OverflowError):
            headers["date"] = None
    subject = headers["subject"] or ""
    return _row(file, f"{subject}\n{text}" if subject else text, subject, headers, place, number)


class _Part(NamedTuple):
    """A mail, or a part of one: its headers, parsed and as they stand, and what follows them."""

    message: Message
    head: bytes
    rest: bytes


def _opened(part: bytes, place: str) -> _Part:
    """A mail, or a part of one, with its headers cut where Python's parsers of them would take long."""
    head, blank, rest = part.partition(b"\n\n")
    head, headers = _HEADER.subn(
        lambda header: header[0] if header[1].lower() in _DECODED_ONLY else header[0][:_LONGEST_HEADER], head
    )
    if headers > _MOST_HEADERS:
        raise UnreadableError(f"{place}: over {_MOST_HEADERS:,} headers; remove it")
    return _Part(_HEADER_PARSER.parsebytes(head), head, blank + rest)


def _message_and_text(mail: bytes, place: str, options: ReadOptions) -> tuple[Message, str]:
    """The headers of a mail; and its plain text, or what its web page says: the first that is no attachment.

    Python's parser gets no parts within parts: it would look at each line once for each level, and recurse.
    """
    whole = _opened(mail, place)
    page, waiting = None, [mail]
    for _ in range(_MOST_PARTS):
        if not waiting:
            break
        raw = waiting.pop()
        part = whole if raw is mail else _opened(raw, place)
        message = part.message
        kind, subkind = message.get_content_maintype(), message.get_content_subtype()
        if kind == "multipart":
            parts = _parts(raw, message.get_boundary())
            if subkind == "related":  # to its root, which is the first unless it is named
                named = message.get_param("start")
                roots = (one for one in parts if named and _opened(one, place).message["content-id"] == named)
                parts = [*islice(roots, 1)] or parts[:1]
            waiting += parts[::-1]
        elif kind == "text" and (part is whole or message.get_content_disposition() != "attachment"):
            if subkind == "html":
                page = page or part
            elif (subkind == "plain" or part is whole) and (text := _content(part, options)).strip():
                return whole.message, text
    if page is None and waiting:
        raise UnreadableError(f"{place}: no text among its first {_MOST_PARTS} parts; remove it")
    return whole.message, "" if page is None else html_text(_content(page, options))[1]


def _parts(mail: bytes, boundary: str | None) -> list[bytes]:
    """The first parts of a mail, which lines with its boundary begin and end."""
    if not boundary:
        return []
    line = re.compile(rb"\n--" + re.escape(boundary.encode(errors="surrogateescape")) + rb"(--)?[ \t]*(?=\n|\Z)")
    parts, begin = [], -1
    for found in islice(line.finditer(mail), _MOST_PARTS + 1):
        if begin >= 0:
            parts.append(mail[begin : found.start()])
        begin = found.end() + 1
        if found[1]:
            return parts
    return parts if begin < 0 or len(parts) == _MOST_PARTS else [*parts, mail[begin:]]


def _check_fields(file: InputFile, names: tuple[str, ...]) -> None:
    file.options.check_fields(names, str(file.path), text_known=True)
    if file.options.text_fields:
        text_field = file.options.text_fields[0]
        raise CorpusError(f"{file.path}: its text is known; leave out text_field {text_field!r:.40}")


def _row(
    file: InputFile, text: str, title: str, fields: dict[str, Any], place: str | None = None, number: int = 1
) -> Row:
    row = make_row(file.options, fields, place or str(file.path), number, text)
    return row if "title" in row.roles else row._replace(roles={**row.roles, "title": title})


def _header(name: str, raw: str | None, options: ReadOptions) -> str | None:
    if raw is None:
        return None
    content = raw.encode("utf-8", "surrogateescape")
    text = raw if raw.isascii() else _decoded(content, _encoding(content, options), "replace")
    value = " ".join(_ENCODED_WORDS.sub(_decoded_words, text).split())
    return _NEEDLESS_SIGNS.sub(r"\1\2", value) if name in ("from", "to", "cc") else value


def _decoded_words(words: re.Match[str]) -> str:
    """Encoded words one after another, two of which may share a character."""
    found: list[tuple[str, bytes]] = []
    for charset, kind, text in _ENCODED_WORD.findall(words[0]):
        try:
            content = binascii.a2b_base64(text + "===") if kind in "Bb" else binascii.a2b_qp(text, header=True)
            found.append((charset.lower(), content))
        except ValueError:
            found.append(("utf-8", f" =?{charset}?{kind}?{text}?= ".encode()))
    parts = groupby(found, itemgetter(0))
    text = "".join(_decoded(b"".join(content for _, content in alike), charset, "replace") for charset, alike in parts)
    return text.replace("\ufeff", "")  # words in UTF-16 have a byte order mark each


def _content(part: _Part, options: ReadOptions) -> str:
    """What a mail, or a part of one, says that is text; by its own encoding, that of the user, or the likely one."""
    message, payload = part.message, part.rest[2:]
    # A line of the head may be no header: text begins there.
    if message.get_payload() or "content-transfer-encoding" in message:
        found = _HEADER_PARSER.parsebytes(part.head + part.rest).get_payload(decode=True)
        assert isinstance(found, bytes)
        payload = found
    return _decoded(payload, message.get_content_charset() or _encoding(payload, options), "replace")


def _encoding(content: bytes, options: ReadOptions) -> str:
    if options.encoding != AUTO:
        return options.encoding
    # The newline ends the text: a character cannot go on behind it.
    return found_encoding(content + b"\n") if b"\0" in content or not content.isascii() else "utf-8"


def _decoded(content: bytes, encoding: str, errors: str) -> str:
    """Bytes by an encoding that somebody else names; UTF-8 where it is none for text, or one that takes too long."""
    try:
        known = codecs.lookup(encoding)
        usable = known._is_text_encoding and known.name not in _UNUSABLE_CHARSETS
    except (LookupError, ValueError):
        usable = False
    return content.decode(encoding if usable else "utf-8", errors)


def _page(file: InputFile) -> str:
    """A page as text: by the encoding that the user names, by what it says of itself, or by its first bytes."""
    content, options = file.content(LONGEST_FILE), file.options
    encoding = _encoding(content, options)
    declared = _CHARSET.search(content[:4096])
    marked = content.startswith(codecs.BOM_UTF8) or encoding.startswith(("utf-16", "utf-32"))
    if options.encoding == AUTO and declared and not marked:
        named = declared[1].decode("ascii")
        encoding = encoding if named.lower().startswith(("utf-16", "utf-32")) else named  # it would not be read so
    try:
        text = _decoded(content, encoding, options.encoding_errors)
    except UnicodeError:
        raise UnreadableError(f"{file.path}: not valid {encoding:.40}; name its encoding (encoding=NAME)") from None
    return text.removeprefix("\ufeff")
