"""Lines that are too long after a replacement: words of comments and docstrings flow on, strings are split."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize

WIDTH = 100


def shorten(text: str, numbers: set[int]) -> str:
    lines = text.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    edits: list[tuple[int, int, list[str]]] = []  # lines [a, b) -> new lines
    done: set[int] = set()
    significant = [t for t in tokens if t.type not in (tokenize.NL, tokenize.COMMENT)]
    docs: list[tuple[int, int]] = []
    for at, token in enumerate(significant):
        if token.type == tokenize.STRING and token.string.lstrip("rRfFuU").startswith('"""'):
            docs.append((token.start[0], token.end[0]))
    for number in sorted(numbers):
        if number in done:
            continue
        line = lines[number - 1]
        stripped = line.strip()
        if stripped.startswith("#"):
            edit = comment(lines, number)
        else:
            inside = next(((a, b) for a, b in docs if a <= number <= b), None)
            edit = paragraph(lines, number, *inside) if inside else string(lines, number, tokens)
        if edit is not None:
            a, b, new = edit
            if any(x in done for x in range(a, b)):
                continue
            done.update(range(a, b))
            edits.append(edit)
    for a, b, new in sorted(edits, reverse=True):
        lines[a - 1 : b - 1] = new
    return "".join(lines)


def comment(lines: list[str], number: int):
    indent = re.match(r" *", lines[number - 1]).group()
    a = b = number
    is_comment = lambda k: 0 < k <= len(lines) and re.match(rf"{indent}# \S", lines[k - 1]) is not None  # noqa: E731
    while is_comment(b + 1) and not lines[b].strip().startswith(("# noqa", "# type")):
        b += 1
    words = " ".join(lines[k - 1].strip()[1:].strip() for k in range(a, b + 1))
    new = textwrap.wrap(words, WIDTH - len(indent) - 2, break_long_words=False, break_on_hyphens=False)
    return a, b + 1, [f"{indent}# {each}\n" for each in new]


_SHORTER = [
    (" dual values", " duals"),
    (" dual value", " dual"),
    (" residency plan", " plan"),
    (" required-resident", " resident"),
    (" fusion tiles", " tiles"),
    (" fusion tile", " tile"),
    (" fused groups", " groups"),
    (" fused group", " group"),
    (" tileable graph", " graph"),
    (" group boundaries", " boundaries"),
]
_BULLET = re.compile(r"\s*([*\-]|\d+\.) ")


def paragraph(lines: list[str], number: int, first: int, last: int):
    """Let the words of a paragraph of a docstring flow from a long line on."""
    line = lines[number - 1]
    indent = re.match(r" *", line).group()
    if first == last:  # a docstring of one line
        match = re.match(r'( *)([rRfF]?)"""(.*)"""\s*$', line)
        if match is None:
            return None
        pad, prefix, body = match.groups()
        for old, new in _SHORTER:
            if len(pad) + len(prefix) + len(body) + 6 <= WIDTH:
                break
            body = body.replace(old, new)
        if len(pad) + len(prefix) + len(body) + 6 <= WIDTH:
            return number, number + 1, [f'{pad}{prefix}"""{body}"""\n']
        if any(mark in body[20:] for mark in (". ", ": ", "; ", ", ", " (", " by ", " of ")):
            for mark in (". ", ": ", "; ", ", ", " (", " by ", " of "):
                at = body.rfind(mark, 0, WIDTH - len(pad) - 4)
                if at > 20:
                    break
            if mark in (". ", ": ", "; ", ", "):
                head, rest = body[: at + 1], body[at + 2 :]
            else:
                head, rest = body[:at] + " ", body[at + 1 :]
            if mark != ". ":
                head = head[:-1] + "."
                rest = rest[:1].upper() + rest[1:]
            wrapped = textwrap.wrap(rest, WIDTH - len(pad), break_long_words=False, break_on_hyphens=False)
            new = [f'{pad}{prefix}"""{head}\n', "\n", *(f"{pad}{each}\n" for each in wrapped), f'{pad}"""\n']
            if is_variable_doc(lines, number):
                new = [f'{pad}{prefix}"""{head}\n', "\n", *(f"{pad}{each}\n" for each in wrapped)]
                new[-1] = new[-1].rstrip("\n") + '"""\n'
            return number, number + 1, new
        wrapped = textwrap.wrap(body, WIDTH - len(pad) - 3, break_long_words=False, break_on_hyphens=False)
        new = [f'{pad}{prefix}"""{wrapped[0]}\n', *(f"{pad}{each}\n" for each in wrapped[1:]), f'{pad}"""\n']
        return number, number + 1, new
    if number == first:
        match = re.match(r'( *)([rRfF]?""")(.*)$', line.rstrip("\n"))
        if match is None:
            return None
        pad, quote, body = match.groups()
        for old, new in _SHORTER:
            if len(pad) + len(quote) + len(body) <= WIDTH:
                break
            body = body.replace(old, new)
        if len(pad) + len(quote) + len(body) <= WIDTH:
            return number, number + 1, [f"{pad}{quote}{body}\n"]
        for mark in (". ", ": ", "; ", ", "):
            at = body.rfind(mark, 0, WIDTH - len(pad) - 4)
            if at > 20:
                break
        else:
            return None
        head, rest = body[: at + 1], body[at + 2 :]
        follow: list[str] = []
        k = number + 1
        if mark != ". ":
            head = head[:-1] + "."
            rest = rest[:1].upper() + rest[1:]
        while k < last and not lines[k - 1].strip():
            k += 1
        if k < last and not _BULLET.match(lines[k - 1]) and not set(lines[min(k, len(lines) - 1)].strip()) <= {"-"}:
            while k < last and lines[k - 1].strip():
                follow.append(lines[k - 1].strip())
                k += 1
            wrapped = textwrap.wrap(" ".join([rest, *follow]), WIDTH - len(pad), break_long_words=False, break_on_hyphens=False)
            return number, k, [f"{pad}{quote}{head}\n", "\n", *(f"{pad}{each}\n" for each in wrapped)]
        wrapped = textwrap.wrap(rest, WIDTH - len(pad), break_long_words=False, break_on_hyphens=False)
        return number, number + 1, [f"{pad}{quote}{head}\n", "\n", *(f"{pad}{each}\n" for each in wrapped)]
    a = b = number
    def flows(k: int) -> bool:
        one = lines[k - 1]
        return (
            k < last
            and bool(one.strip())
            and re.match(r" *", one).group() == re.match(r" *", lines[a if a != number else number - 1]).group()
            and not _BULLET.match(one)
            and not set(one.strip()) <= {"-"}
            and not (k < len(lines) and lines[k].strip() and set(lines[k].strip()) <= {"-"})
        )
    rest_indent = indent + ("  " if _BULLET.match(line) else "")
    while b + 1 < last + (lines[last - 1].strip() != '"""') and lines[b].strip() and not _BULLET.match(lines[b]) and re.match(r" *", lines[b]).group() == rest_indent and not lines[b].strip() == '"""' and not (b + 1 < len(lines) and lines[b + 1].strip() and set(lines[b + 1].strip()) <= {"-"}):
        b += 1
    ends = ""
    body = [lines[k - 1].strip() for k in range(a, b + 1)]
    if body[-1].endswith('"""') and body[-1] != '"""':
        body[-1], ends = body[-1][:-3], '"""'
    wrapped = textwrap.wrap(" ".join(body), WIDTH, initial_indent=indent, subsequent_indent=rest_indent, break_long_words=False, break_on_hyphens=False)
    if ends and len(wrapped[-1]) + 3 > WIDTH:
        cut = wrapped[-1].rfind(" ")
        wrapped[-1:] = [wrapped[-1][:cut], rest_indent + wrapped[-1][cut + 1 :]]
    wrapped[-1] += ends
    return a, b + 1, [each + "\n" for each in wrapped]


def is_variable_doc(lines: list[str], number: int) -> bool:
    before = lines[number - 2].rstrip() if number > 1 else ""
    if number == 1:
        return False
    return not before.endswith(":")


def string(lines: list[str], number: int, tokens):
    """Split the longest string on a line at a blank; inside brackets two strings are one."""
    best = None
    k = 0
    while k < len(tokens):
        t = tokens[k]
        if t.type == tokenize.STRING and t.start[0] == t.end[0] == number:
            span = (t.start[1], t.end[1])
        elif t.type == tokenize.FSTRING_START and t.start[0] == number:
            depth, j = 1, k + 1
            while depth:
                depth += (tokens[j].type == tokenize.FSTRING_START) - (tokens[j].type == tokenize.FSTRING_END)
                j += 1
            if tokens[j - 1].end[0] != number:
                k = j
                continue
            span = (t.start[1], tokens[j - 1].end[1])
            k = j - 1
        else:
            k += 1
            continue
        if best is None or span[1] - span[0] > best[1] - best[0]:
            best = span
        k += 1
    line = lines[number - 1].rstrip("\n")
    if best is None:
        # a trailing comment goes above
        match = re.match(r"( *)(.*?)(  # .*)$", line)
        if match and "noqa" not in line and "type:" not in line:
            return number, number + 1, [f"{match[1]}{match[3].strip()}\n", f"{match[1]}{match[2]}\n"]
        return None
    begin, end = best
    text = line[begin:end]
    match = re.match(r"([rRfFuU]*)(\"\"\"|'''|\"|')", text)
    prefix, quote = match.groups()
    if len(quote) == 3:
        return None
    room = WIDTH - 4 - begin
    at, depth, blanks = len(prefix) + 1, 0, []
    is_f = "f" in prefix.lower()
    inner = text[: -1]
    while at < len(inner):
        c = inner[at]
        if is_f and c in "{}":
            if inner[at : at + 2] in ("{{", "}}") and depth == 0:
                at += 2
                continue
            depth += 1 if c == "{" else -1
        if c == "\\":
            at += 2
            continue
        if c == " " and depth == 0:
            blanks.append(at)
        at += 1
    fit = [b for b in blanks if b < max(room, 30)]
    if not fit:
        return None
    cut = fit[-1] + 1
    one, two = text[:cut] + quote, prefix + quote + text[cut:]
    if is_f and "{" not in one:
        one = one.replace(prefix, prefix.lower().replace("f", ""), 1)
    if is_f and "{" not in two:
        two = two.replace(prefix, prefix.lower().replace("f", ""), 1)
    pad = " " * begin
    before, after = line[:begin], line[end:]
    in_bracket = not before.strip() or before.rstrip().endswith(("(", ",", "[", "{", "="))
    if before.rstrip().endswith(" =") or re.search(r"(return|yield|in|else|if|and|or|==|!=|assert|raise|:|\+|%)\s*$", before):
        return number, number + 1, [f"{before}({one} {two}){after}\n"]
    if in_bracket:
        return number, number + 1, [f"{before}{one}\n", f"{pad}{two}{after}\n"]
    return number, number + 1, [f"{before}{one}\n", f"{pad}{two}{after}\n"]
