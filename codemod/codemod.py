"""One codemod to the glossary. ``python3.13 codemod.py ROOT [--no-format]`` rewrites a checkout in place.

Deterministic; a second run changes nothing. Stages: functions named by a participle (scopes are
resolved), words of identifiers, strings and prose by tables, exact docstrings, files and modules, ruff.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tokenize
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import ast

import functions
import prose as P
import tables as T
import moves

ROOT = Path(".")
COMPILED: dict[str, re.Pattern[str]] = {}


def rx(pattern: str) -> re.Pattern[str]:
    if pattern not in COMPILED:
        COMPILED[pattern] = re.compile(pattern)
    return COMPILED[pattern]


def applies(path: str, only: str | None, never: str | None) -> bool:
    return (only is None or bool(rx(only).search(path))) and not (
        never is not None and rx(never).search(path)
    )


_SPLIT = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+|_+")


@lru_cache(maxsize=None)
def exact_rules(path: str) -> dict[str, str]:
    rules: dict[str, str] = {}
    for name, new, only, never in T.EXACT:
        if name not in rules and applies(path, only, never):
            rules[name] = new
    return rules


@lru_cache(maxsize=None)
def part_rules(path: str) -> dict[str, list[tuple[list[str], list[str], set[str]]]]:
    rules: dict[str, list[tuple[list[str], list[str], set[str]]]] = {}
    for old, new, only, never, guard in T.PARTS:
        if applies(path, only, never):
            parts = old.split("_")
            rules.setdefault(parts[0], []).append((parts, new.split("_"), set(guard.split())))
    for each in rules.values():
        each.sort(key=lambda rule: -len(rule[0]))
    return rules


@lru_cache(maxsize=None)
def renamed(name: str, path: str) -> str:
    """The new name of an identifier in a file."""
    if name.startswith("__") and name.endswith("__"):
        return name
    exact = exact_rules(path)
    if name in exact:
        return exact[name]
    bare = name.strip("_")
    if bare in exact and name != bare:
        return name.replace(bare, exact[bare])
    if name.startswith("test_"):
        return test_name(name, path)
    lead = re.match(r"_*", name).group()
    tail = re.search(r"_*$", name[len(lead):]).group()
    core = name[len(lead): len(name) - len(tail) if tail else None]
    if not core:
        return name
    pieces = _SPLIT.findall(core)
    if "".join(pieces) != core:
        return name
    if core.isupper() or (core.upper() == core):
        style = "upper"
    elif core[0].isupper():
        style = "camel"
    else:
        style = "snake"
    words = [piece for piece in pieces if not piece.startswith("_")]
    if style == "snake" and any(any(c.isupper() for c in w) for w in words):
        return name
    low = [word.lower() for word in words]
    out = sequence(low, path)
    if out is None:
        return name
    if style == "upper":
        text = "_".join(out).upper()
    elif style == "camel":
        kept = iter(words)
        text = "".join(word[:1].upper() + word[1:] for word in out)
        # words that did not change keep their own capitals
        originals = {word.lower(): word for word in words}
        text = "".join(
            originals.get(word, word[:1].upper() + word[1:]) if word in originals else word[:1].upper() + word[1:]
            for word in out
        )
        del kept
    else:
        text = "_".join(out)
    return lead + text + tail


def sequence(low: list[str], path: str) -> list[str] | None:
    rules, out, at, changed = part_rules(path), [], 0, False
    while at < len(low):
        for old, new, guard in rules.get(low[at], ()):
            if low[at : at + len(old)] == old and not (out and out[-1] in guard):
                out += new
                at += len(old)
                changed |= old != new
                break
        else:
            out.append(low[at])
            at += 1
    return out if changed else None


def test_name(name: str, path: str) -> str:
    words = name.split("_")
    text = " ".join(words)
    for pattern, new in P.TEST_NAMES:
        text = re.sub(pattern, new, text)
    return text.replace(" ", "_").replace("-", "_")


# --- Python ----------------------------------------------------------------------------------
_STRING = re.compile(r"(?s)^([rRbBuUfF]*)('''|\"\"\"|'|\")(.*)\2$")
_IDENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DOTTED = re.compile(r"[a-z_][\w]*(\.\w+)+\Z")


def rewrite_python(text: str, path: str, docs: dict[str, str]) -> str:
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(position: tuple[int, int]) -> int:
        return starts[position[0] - 1] + position[1]

    edits: list[tuple[int, int, str]] = []
    significant: list[tokenize.TokenInfo] = [
        t for t in tokens if t.type not in (tokenize.NL, tokenize.COMMENT)
    ]
    order = {id(t): i for i, t in enumerate(significant)}
    in_module_path = module_path_tokens(significant)
    exports = [(m.start(), m.end()) for m in re.finditer(r"(?s)^__all__ = \[.*?\]", text, re.M)]
    parts = None
    for token in tokens:
        kind, string = token.type, token.string
        if kind == tokenize.NAME:
            at = order[id(token)]
            if at in in_module_path:
                continue
            before = significant[at - 1] if at else None
            after = significant[at + 1] if at + 1 < len(significant) else None
            two = significant[at - 2] if at > 1 else None
            chunk = ""
            if string == "pieces":
                if parts is None:
                    parts = chunks(text)
                row = token.start[0]
                chunk = next((c for a, b, c in reversed(parts) if a <= row <= b), "")
            new = name_in_context(string, path, before, two, after, line_of(lines, token), chunk, token.end[1])
        elif kind == tokenize.STRING:
            at = order[id(token)]
            before = significant[at - 1] if at else None
            is_doc = before is None or before.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
            if any(a <= offset(token.start) < b for a, b in exports):
                new = string[0] + renamed(string[1:-1], path) + string[-1]
            elif string in ('"page"', '"pieces"') and P.is_scheduler(string, line_of(lines, token), path):
                new = '"residency"' if string == '"page"' else '"fusion"'
            else:
                new = rewrite_string(string, path, docs, is_doc, before, significant[at - 2] if at > 1 else None)
        elif kind == tokenize.FSTRING_MIDDLE:
            begin, end = offset(token.start), offset(token.end)
            raw = text[begin:end]
            new = rewrite_text(raw, path)
            if new != raw:
                edits.append((begin, end, new))
            continue
        elif kind == tokenize.COMMENT:
            new = "#" + P.prose(string[1:], path, renamed)
            if re.match(r"# (noqa|type:|fmt:|pragma|mypy)", string):
                new = string
        else:
            continue
        if new != string:
            edits.append((offset(token.start), offset(token.end), new))
    for begin, end, new in sorted(edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return fix_parametrize(P.fix_articles(text), path)


def module_path_tokens(tokens) -> set[int]:
    """Positions of the names of modules in import statements."""
    marks: set[int] = set()
    state = ""
    for at, token in enumerate(tokens):
        if token.type == tokenize.NEWLINE:
            state = ""
            continue
        first = at == 0 or tokens[at - 1].type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT) or tokens[at - 1].string in (":", ";")
        if token.type == tokenize.NAME:
            if first and token.string == "from":
                state = "path"
            elif state == "path" and token.string == "import":
                state = ""
            elif first and token.string == "import":
                state = "path"
            elif state == "path" and token.string != "as":
                marks.add(at)
    return marks


def fix_parametrize(text: str, path: str) -> str:
    """Let the names in ``parametrize`` be those of the function's parameters."""
    if "parametrize" not in text:
        return text
    lines = text.split("\n")
    edits = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        args = {a.arg for a in [*node.args.args, *node.args.kwonlyargs]}
        for decorator in node.decorator_list:
            if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("parametrize") and decorator.args):
                continue
            for each in ast.walk(decorator.args[0]):
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    names = [n.strip() for n in each.value.split(",")]
                    new = []
                    for name in names:
                        options = [renamed(name, path), "fusion", "micro_batches", "fusion_tiles", "residency", "problem"]
                        if name not in args:
                            name = next((o for o in options if o in args and o not in names), name)
                        new.append(name)
                    if new != names and each.lineno == each.end_lineno:
                        edits.append((each.lineno, each.col_offset, each.end_col_offset, '"' + ", ".join(new) + '"'))
    for row, begin, end, new in sorted(edits, reverse=True):
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:begin] + new.encode() + line[end:]).decode()
    return "\n".join(lines)


def line_of(lines: list[str], token: tokenize.TokenInfo) -> str:
    return lines[token.start[0] - 1]


_RESULT_BASES = set(
    "result stored run outcome made found answer case again explained late early alone asked best chosen verified read_result".split()
)
_OPEN_MODE = re.compile(r"\bmode=|open\(")
_IS_FUSION = re.compile(
    r"(?<!\.)\bpieces\s*[:=]\s*(Stored)?Pieces\b|\bpieces: str\b|(?<!\.)\bpieces(?:, \w+)* = [^\n]*\.pieces\b|(?<!\.)\bpieces\.(cover|listing|instance|certificate|loops|graph|lowering)\b"
    r"|(?<!\.)\bpieces is (not )?None|, pieces = result"
)
_OF_GROUP = re.compile(r"\b(Segment|Loop|Origin|Family|SegmentSpan|uniform|begin=)")
_OF_RESULT = re.compile(r"\b(Pieces\(|Result\(|solve\(|compare\(|replace\((result|stored|found|full|self\.result|\w+\.result)|load\()")


def name_in_context(string, path, before, two, after, line, chunk="", end=0) -> str:
    dotted = before is not None and before.string == "."
    if string == "pieces":
        return pieces_in_context(path, dotted, before, two, after, line, chunk, end)
    if dotted and string == "modes":
        return "mappings"
    if string == "mode" and re.search(r"ast\.parse|compile\(", line):
        return string
    if string in ("mode", "modes") and after is not None and after.string == "=" and _OPEN_MODE.search(line) and re.search(r"(np\.(pad|take)|open\(|mkdir|chmod|F\.|interpolate)", line):
        return string
    return renamed(string, path)


def pieces_in_context(path, dotted, before, two, after, line, chunk, end) -> str:
    foreign = bool(rx(T.NOT_PIECES).search(path))
    if rx(r"^(spmopt|tests)/(policies|tiles)/").search(path):
        return "pieces"
    if re.match(r"\s*(from|import)\b", line):
        return "pieces"  # modules: moves
    if re.search(r"^(spmopt|tests)/(verifier|audit)", path) and (
        (dotted and two is not None and two.string in ("maps", "MAPS", "damaged"))
        or (not dotted and re.search(r"PieceMap\b|maps\.pieces|MAPS\.pieces", chunk) and not re.search(r"begin=|Segment", line))
    ):
        return "fusion_tiles"
    if dotted:
        base = two.string if two else ""
        if base in ("core", "verifier", "audit", "io"):
            return "pieces"
        if re.match(r"\s*(is\b|\.(cover|listing|instance|certificate|loops)\b)", line[end:]) or base == "pieces":
            return "fusion"
        if foreign:
            if base in ("result", "stored", "run", "outcome", "solution"):
                return "fusion"
            if "execution" in path and base in ("segment", "each", "origin", "loop"):
                return "micro_batches"
            return "pieces"
        if rx(r"formulations/(covers|fusion)").search(path):
            return "micro_batches" if base not in ("result", "outcome", "stored") else "fusion"
        if (base == ")" and "read_result(" in line) or (base == "page" and "solving" in path):
            return "fusion"
        if base in _RESULT_BASES or (base in ("other", "best", "chosen") and re.search("reporting|api|results/", path)):
            return "fusion"
        if base == "self" and re.search(r"io/files|core/result|solving/", path):
            return "fusion"
        return "micro_batches"
    is_keyword = after is not None and after.string == "=" and before is not None and before.string in ("(", ",") and not re.match(r"\s*pieces = ", line)
    if re.search("formulations/(covers|fusion)", path) and "Pieces" not in chunk:
        return "micro_batches"
    if is_keyword and _OF_GROUP.search(line):
        return "micro_batches"
    if is_keyword and _OF_RESULT.search(line):
        return "fusion"
    if foreign and not re.search("Pieces", chunk):
        return "pieces"
    if re.search("^spmopt/(api|cli)/", path):
        return "fusion"
    if _IS_FUSION.search(chunk):
        return "fusion"
    if foreign:
        return "pieces"
    if re.search(r"\bpieces: int|for pieces in|for [\w, ]*pieces[\w, ]* in|\bpieces=pieces\b", chunk):
        return "micro_batches"
    if re.search(r"^spmopt/(core/result|io/files|solving|search|api|cli|sweeps|audit|analysis/explanation|reporting/(covers|verification|results|comparison|story))|^tests/(api|cli|sweeps|solving|search)|^results/", path):
        return "fusion"
    return "micro_batches"


def chunks(text: str) -> list[tuple[int, int, str]]:
    """Lines and text of every function, inner ones last."""
    lines = text.splitlines()
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            if isinstance(node, ast.ClassDef):
                inner = [(n.lineno, n.end_lineno) for n in node.body if isinstance(n, ast.FunctionDef)]
                keep = [l for i, l in enumerate(lines[node.lineno - 1 : node.end_lineno], node.lineno) if not any(a <= i <= b for a, b in inner)]
                found.append((node.lineno, node.end_lineno, "\n".join(keep)))
            else:
                found.append((node.lineno, node.end_lineno, "\n".join(lines[node.lineno - 1 : node.end_lineno])))
    return sorted(found, key=lambda c: (c[0], -c[1]))


def rewrite_string(string, path, docs, is_doc, before, two) -> str:
    match = _STRING.match(string)
    if match is None:
        return string
    prefix, quote, body = match.groups()
    if "b" in prefix.lower():
        return string
    if is_doc:
        return prefix + quote + P.docstring(body, path, renamed) + quote
    new = rewrite_text(body, path, before, two)
    return prefix + quote + new + quote


def normal(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def indent_like(old: str, new: str) -> str:
    indent = re.search(r"\n( *)\S", old)
    pad = indent.group(1) if indent else ""
    lines = new.split("\n")
    return "\n".join([lines[0], *(pad + line if line.strip() else "" for line in lines[1:])])


def rewrite_text(body: str, path: str, before=None, two=None) -> str:
    """A string that is no docstring: a name, a path of a module, or words."""
    if _IDENT.match(body):
        return P.string_name(body, path, renamed, before, two)
    if _DOTTED.match(body) and re.match(r"(spmopt|formulations|tests|results)\.", body):
        return body  # moves
    return P.prose(body, path, renamed)


# --- other files -----------------------------------------------------------------------------
def rewrite_other(text: str, path: str) -> str:
    if path.endswith((".md", ".rst")):
        return P.fix_articles(P.markdown(text, path, renamed))
    if path.endswith(".toml"):
        return P.toml(text, path, renamed)
    if path.endswith((".js", ".css", ".html", ".c", ".h")):
        return P.script(text, path, renamed)
    return text


def load_docs() -> dict[str, str]:
    """Lines "old => new" of sentences, from files of docstrings; longest first."""
    docs: dict[str, str] = {}
    for file in sorted(Path(__file__).parent.glob("docstrings/*.txt")):
        for line in file.read_text().splitlines():
            old, arrow, new = line.partition(" => ")
            if arrow and not line.startswith("#"):
                docs[normal(old)] = new.strip()
    return dict(sorted(docs.items(), key=lambda each: -len(each[0])))


def tracked() -> list[str]:
    out = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()
    return sorted(p for p in set(out) if (ROOT / p).is_file() and not T.SKIP.search(p))


def main() -> None:
    global ROOT
    ROOT = Path(sys.argv[1]).resolve()
    docs = load_docs()
    python = {p: (ROOT / p).read_text() for p in tracked() if p.endswith((".py", ".pyi"))}
    original = dict(python)
    # Exact replacements and docstrings come first: they are of the text as it stands.
    python = {p: literal(text, p, docs) for p, text in python.items()}
    python = functions.rename(python)
    python = {p: moves.modules(text) for p, text in python.items()}
    if "--serial" in sys.argv:
        python = {p: rewrite_python(text, p, docs) for p, text in python.items()}
    else:
        from multiprocessing import Pool

        with Pool(2) as pool:
            texts = pool.starmap(rewrite_python, ((text, p, docs) for p, text in python.items()), 16)
        python = dict(zip(python, texts, strict=True))
    for p, text in python.items():
        for old, new in P.AFTER:
            text = text.replace(old, new)
        python[p] = text
        if text != original[p]:
            (ROOT / p).write_text(text)
    for p in tracked():
        if not p.endswith((".py", ".pyi")):
            try:
                text = (ROOT / p).read_text()
            except UnicodeDecodeError:
                continue
            new = P.literal_in(text, p)
            for old, replacement in P.LITERAL:
                new = new.replace(old, replacement)
            new = functions._DOTTED.sub(lambda m: functions.LAZY.get(m[0], m[0]), new)
            new = rewrite_other(moves.modules(new), p)
            if new != text:
                (ROOT / p).write_text(new)
    moves.move(ROOT)
    for source in sorted((Path(__file__).parent / "new").rglob("*.py")):
        target = ROOT / source.relative_to(Path(__file__).parent / "new")
        if not target.exists():
            target.write_text(source.read_text())
    for source in sorted((Path(__file__).parent / "overwrite").rglob("*.*")):
        target = ROOT / source.relative_to(Path(__file__).parent / "overwrite")
        if target.exists():
            target.write_text(source.read_text())
    if "--no-format" not in sys.argv:
        moves.tidy(ROOT)


_TRIPLE = re.compile(r'''(?s)"""(.*?)"""''')


def literal(text: str, path: str, docs: dict[str, str]) -> str:
    text = P.literal_in(text, path)
    for old, new in P.LITERAL:
        if old in text:
            text = text.replace(old, new)
    if not docs or "what" not in text.lower() and "whose" not in text and "that of" not in text and "those of" not in text:
        return text
    return _TRIPLE.sub(lambda m: '"""' + sentences(m[1], docs) + '"""', text)


def sentences(body: str, docs: dict[str, str]) -> str:
    """Replace sentences of a docstring; where lines end does not matter."""
    flat = normal(body)
    for old, new in docs.items():
        if old in flat:
            pattern = r"(?<![\w])" + r"\s+".join(re.escape(word) for word in old.split(" "))
            body = re.sub(pattern, lambda _m: new, body)
            flat = normal(body)
    return body


if __name__ == "__main__":
    main()
