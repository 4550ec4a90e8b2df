"""Words of docstrings, comments, messages, help and pages: phrases of today -> phrases of the field."""

from __future__ import annotations

import re
from functools import lru_cache

import tables as T

PYPROJECT: list[tuple[str, str]] = []
SCHEDULERS = {"page": "residency", "pieces": "fusion"}
_NAMES = r"(?:stream|lru|belady(?:-size)?|frequency|static|msa|tsai|next-layer|autotm|double-buffer|whole|page|pieces|contiguous|banks|joint|fluid)"

# (pattern, replacement, only paths, never paths); in order.
PHRASES = [
    # --- keys of files
    (r"\bsegments(?=\\?\[|\]\])", "fused_groups", None, T.NOT_SEGMENT),
    (r"\bpieces(?= = (\d|\.\.\.|\{|0|-|'|\"|true|\[))", "micro_batches", None, T.NOT_PIECES),
    (r"\bbands(?= = (\d|\{|0|-|'|\"))", "stripes", None, T.NOT_BAND),
    # --- longer phrases first
    (r"\bgap, own list\b", "gap, this fusion", None, None),
    (r"\bgap, all covers\b", "gap, fusion space", None, None),
    (r"\bbest cover found\b", "best fusion plan found", None, None),
    (r"\b(T|t)he optimum of the list as given\b", r"\1he layer-by-layer optimum", None, None),
    (r"\b(T|t)he optimum over all covers\b", r"\1he fused optimum", None, None),
    (r"\bof the list as given\b", "layer by layer", None, None),
    (r"\bon the list as given\b", "layer by layer", None, None),
    (r"\bthe list as given\b", "the layer-by-layer plan", None, None),
    (r"\bThe list as given\b", "The layer-by-layer plan", None, None),
    (r"\blist as given\b", "layer by layer", None, None),
    (r"\bover all covers\b", "over the fusion space", None, None),
    (r"\b(a|the|of|A|The) family of covers\b", r"\1 fusion space", None, None),
    (r"\bfamilies of covers\b", "fusion spaces", None, None),
    (r"\bFamilies of covers\b", "Fusion spaces", None, None),
    (r"\bwhatever the cover\b", "over the fusion space", None, None),
    (r"\bpieces of the batch\b", "micro-batches", None, None),
    (r"\bpieces of a batch\b", "micro-batches", None, None),
    (r"\bpiece of the batch\b", "micro-batch", None, None),
    (r"\bpiece of a batch\b", "micro-batch", None, None),
    (r"\bpieces of tokens\b", "token blocks", None, None),
    (r"\b([Bb])ands of rows\b", lambda m: "Stripes" if m[1] == "B" else "stripes", None, T.NOT_BAND),
    (r"\b([Bb])and of rows\b", lambda m: "Stripe" if m[1] == "B" else "stripe", None, T.NOT_BAND),
    (r"\b(a|the|A|The) (result|schedule) in pieces\b", r"\1 fused \2", None, T.NOT_PIECES),
    (r"\b(results|schedules|networks|operations) in pieces\b", r"fused \1", None, T.NOT_PIECES),
    (r"\b(Results|Schedules|Networks) in pieces\b", lambda m: "Fused " + m[1].lower(), None, T.NOT_PIECES),
    (r"\bcomputed in pieces\b", "fused", None, T.NOT_PIECES),
    (r"\bis in pieces\b", "is fused", None, T.NOT_PIECES),
    (r"\bin pieces\b", "in fusion tiles", None, T.NOT_PIECES),
    (r"\b(\d+|\}|fewer|many|several|some|so many|equal|more|single|few|two) pieces\b", r"\1 fusion tiles", T.FUSION, T.NOT_PIECES),
    (r"\bpieces\b", "fusion tiles", None, T.NOT_PIECES),
    (r"\bPieces\b", "Fusion tiles", None, T.NOT_PIECES),
    (r"\bpiece by piece\b", "one fusion tile after the other", None, T.NOT_PIECES),
    (r"\bpiece\b", "fusion tile", None, T.NOT_PIECES),
    (r"\bPiece\b", "Fusion tile", None, T.NOT_PIECES),
    # --- words
    (r"\bcovers(?= (the|all|every|what|exactly|only|whole|its|this|an|a|each|it|them|that)\b)", "covers", None, None),
    (r"(?<!that )(?<!which )(?<!it )(?<!and )\bcovers\b(?! (the|all|every|what|exactly|only|whole|its|this|an|a|each|it|them|that)\b)", "fusion plans", None, r"curves|plots"),
    (r"\bCovers\b(?! (the|all|every|what)\b)", "Fusion plans", None, None),
    (r"\b((?:a|an|the|A|The|one|no|No|any|Any|each|every|this|that|whose|another|best|its|own|same|of|by|other|which|chosen|given|cheapest|per|for|on|new|last|first|optimal|with|is) )cover\b(?! (the|all|every|what)\b)", r"\1fusion plan", None, r"curves|plots"),
    (r"\bcover(?=[:,.;)]|$| (of|is|has|that|was|for|from|with|costs)\b)", "fusion plan", None, r"curves|plots"),
    (r"\bCover(?=[:,.;)]|$| (of|is|has|that|was|for|from)\b)", "Fusion plan", None, None),
    (r"\bsegments\b", "fused groups", None, T.NOT_SEGMENT),
    (r"\bsegment\b", "fused group", None, T.NOT_SEGMENT),
    (r"\bSegments\b", "Fused groups", None, T.NOT_SEGMENT),
    (r"\bSegment\b", "Fused group", None, T.NOT_SEGMENT),
    (r"\bborders\b", "boundaries", None, r"reporting/page|plots|styles"),
    (r"\bborder\b", "boundary", None, r"reporting/page|plots|styles"),
    (r"\bBorders\b", "Boundaries", None, r"reporting/page|plots"),
    (r"\bBorder\b", "Boundary", None, r"reporting/page|plots"),
    (r"\bbands\b", "stripes", None, T.NOT_BAND),
    (r"\bband\b", "stripe", None, T.NOT_BAND),
    (r"\bBands\b", "Stripes", None, T.NOT_BAND),
    (r"\bBand\b", "Stripe", None, T.NOT_BAND),
    (r"\b(f|F)or instance\b", r"\1or example", None, None),
    (r"\binstance normalization\b", "instance\x00normalization", None, None),
    (r"\binstances(?!/)\b", "problems", None, None),
    (r"(?<!/)\binstance\b(?!/)(?!\x00)", "problem", None, None),
    (r"\bInstances\b", "Problems", None, None),
    (r"\bInstance\b(?!N)", "Problem", None, None),
    ("\x00", " ", None, None),
    (r"\b(training|evaluation|file|open|read|write|text|binary|dark|light|light\w*|file's) mode\b", "\\1 mo\x00de", None, None),
    (r"\bmodes\b", "mappings", None, T.FOREIGN + r"|reporting/page"),
    (r"\bmode\b", "mapping", None, T.FOREIGN + r"|reporting/page|core/(border|validation)|io/document"),
    (r"\bModes\b", "Mappings", None, T.FOREIGN + r"|reporting/page"),
    (r"\bMode\b", "Mapping", None, T.FOREIGN + r"|reporting/page"),
    ("mo\x00de", "mode", None, None),
    (r"\b(the|The|a|A|same|other|another|each|by|of|no|and|with) lowering\b", r"\1 mapper", None, None),
    (r"\blowering (tiled|panel|weights|ideal)\b", r"mapper \1", None, None),
    (r"\bloweringss?\b(?=$|[:,;])", "mapper", None, None),
    (r"\b((?:of|number of|several|two|three|more|many|repeated|most|their|its|one|fewest|few|the|and|in|by|with|all|\d+|\}|of one|no) )passes\b(?! (through|over|the|a)\b)", r"\1fetches", None, r"frontends|onnx"),
    (r"\bpasses (must|of|are|share|cross|counted)\b", r"fetches \1", None, r"frontends|onnx"),
    (r"\b((?:one|a|each|another|every|first|single|per) )pass\b(?! (through|over)\b)(?=$|[.,;:)]| (of|is|has|gains|each))", r"\1fetch", r"formulations|core|verifier|assemble", r"frontends|onnx"),
    (r"(?<!-)\b(weight|output|input|activation|row)([- ])stationary\b", "\\1\\2station\x00ary", None, None),
    (r"\bstationary (operands?|results?|tensors?)\b", r"required-resident \1", None, r"hardware|tiles/scalesim|dataflow"),
    (r"\bStationary (operands?|results?|tensors?)\b", r"Required-resident \1", None, r"hardware"),
    (r"\bstationary\b", "required-resident", None, r"hardware|scalesim|dataflow|array_accesses"),
    (r"\bStationary\b", "Required-resident", None, r"hardware|scalesim"),
    ("station\x00ary", "stationary", None, None),
    (r"\b(S|s)hadow prices\b", "\\1hadow pri\x00ces", None, None),
    (r"\b(S|s)hadow price\b", "\\1hadow pri\x00ce", None, None),
    (r"\bprices\b", "shadow pri\x00ces", r"^spmopt/(reporting|analysis)", T.MONEY),
    (r"\bprice\b", "shadow pri\x00ce", r"^spmopt/(reporting|analysis)", T.MONEY),
    (r"\b(channel|that|which|it) prices\b", "\\1 pri\x00ces", None, None),
    (r"\bprices\b", "dual values", None, T.MONEY),
    (r"\bprice\b", "dual value", None, T.MONEY),
    (r"\bPrices\b", "Dual values", None, T.MONEY),
    (r"\bPrice\b", "Dual value", None, T.MONEY),
    ("pri\x00ce", "price", None, None),
    (r"\b((?:a|an|the|A|The|one|no|No|any|Any|each|every|this|that|whose|another|best|its|same|of|legal|random|first|start) )plan\b", r"\1residency plan", None, r"search|frontends|README"),
    (r"\b((?:random|legal|all|of|the|no|few|optimal|best|its) )plans\b", r"\1residency plans", None, r"search|frontends|README"),
    (r"\blayer-by-layer residency plan\b", "layer-by-layer plan", None, None),
    (r"\bfusion residency plan", "fusion plan", None, None),
    (r"\b(a|the|A|The|of|any|no|each|every|that|this|whose) family\b", r"\1 fusion space", None, T.NOT_FAMILY),
    (r"\bfamilies\b", "fusion spaces", None, T.NOT_FAMILY + "|spmopt/reporting|results|README"),
    (r"\b(a|the|A|The|of|any|no|each|every|that|this|whose|random) listing\b", r"\1 tileable graph", None, r"lists|scalesim|frontends|policies/tsai|tiles"),
    (r"\blistings\b", "tileable graphs", None, r"lists|scalesim|frontends|policies/tsai|tiles"),
    (r"\bListings\b", "Tileable graphs", None, r"lists|scalesim|frontends|policies/tsai|tiles"),
    (r"\b(a|the|A|The|of|any|no|each|every|that|this|whose) story\b", r"\1 ablation", None, None),
    (r"\bstories\b", "ablations", None, None),
    (r"\bStory\b", "Ablation", None, None),
    (r"\bbatch pieces\b", "micro-batches", None, None),
    # --- words of style.md
    (r"\bwhat is on chip\b", "the resident bytes", None, None),
    (r"\bWhat is on chip\b", "The resident bytes", None, None),
    (r"\bwhat stays on chip\b", "the resident bytes", None, None),
    (r"\bwhat must be on chip\b", "the required-resident operands", None, None),
    (r"\bwhat it costs\b", "its cost", None, None),
    (r"\bwhat each costs\b", "the cost of each", None, None),
    (r"\bwhat each takes\b", "the time of each", None, None),
    (r"\bwhat it reads\b", "its inputs", None, None),
    (r"\bwhat they read\b", "their inputs", None, None),
    (r"\bwhat is left\b", "the rest", None, None),
    (r"\bwhat was measured\b", "the measurements", None, None),
    (r"\bwhat there is\b", "the existing ones", None, None),
    (r"\bwhat the verifier says\b", "the verdict of the verifier", None, None),
    (r"\bwhat a schedule\b", "whatever a schedule", None, None),
    (r"\bfrom what\b", "from the values that", r"^NEVER", None),
]


@lru_cache(maxsize=None)
def _rules(path: str):
    out = []
    for pattern, new, only, never in PHRASES:
        if (only is None or re.search(only, path)) and not (never is not None and re.search(never, path)):
            out.append((re.compile(pattern), new))
    return out


_ANY = re.compile(
    r"(?i)cover|segment|border|\bband|piece|instance|mode|lowering|pass|stationary|price|plan|famil|listing|stor(y|ies)|list as given|what |own list|--|-s "
)
_SPAN = re.compile(r"(``[^`\n]+(?:\n[^`\n]+)?``|:[a-z]+:`[^`]+`|`[^`\n]+`|\b[a-z]\w*(?:[._]\w+)+\b|\]\([^)]*\)|https?://\S+|(?<!\w)/?[\w.-]+(?:/[\w.-]+)+)")
_OPTION = [
    (re.compile(r"--pieces([ =])fuse\b"), r"--fusion\1single-product"),
    (re.compile(r"--pieces\b"), "--fusion"),
    (re.compile(r"--cover\b"), "--fusion-plan"),
    (re.compile(r"--lowering\b"), "--mapper"),
    (re.compile(r"\b(pieces|fusion):family=fuse\b"), "fusion:space=single-product"),
    (re.compile(r"\b(pieces|fusion):family="), "fusion:space="),
    (re.compile(r"\bpieces=fuse\b"), "fusion=single-product"),
    (re.compile(r"\bpieces=(all|batch|none)\b"), r"fusion=\1"),
]
_SCHEDULER_OPTION = re.compile(r"((?:-s|--scheduler|--schedulers|--replacement)[ =])(\S+)")


def options(text: str) -> str:
    if "-" not in text and "pieces" not in text:
        return text
    for pattern, new in _OPTION:
        text = pattern.sub(new, text)

    def schedulers(match: re.Match[str]) -> str:
        names = []
        for name in match[2].split(","):
            head, colon, rest = name.partition(":")
            word = re.match(r"[\w-]*", head).group()
            head = SCHEDULERS.get(word, word) + head[len(word):]
            names.append(head + colon + rest)
        return match[1] + ",".join(names)

    return _SCHEDULER_OPTION.sub(schedulers, text)


def prose(text: str, path: str, renamed, doc: bool = False) -> str:
    if not _ANY.search(text):
        return text
    text = options(text)
    parts = _SPAN.split(text)
    for at, part in enumerate(parts):
        if at % 2:
            parts[at] = code(part, path, renamed)
        elif part:
            for pattern, new in _rules(path):
                part = pattern.sub(new, part)
            parts[at] = part
    return "".join(parts)


_WORD = re.compile(r"[A-Za-z_]\w*")
_CODE_WORD = re.compile(r"(?<![\w-])[A-Za-z_]\w*(?![\w-])")
_HEADER = re.compile(r"(?m)^( *)([a-z_]\w*(?:, [a-z_]\w*)*)(?=\n\1    \S)")


def docstring(text: str, path: str, renamed) -> str:
    """Names of parameters and attributes are those of the code, the rest is prose."""
    out, at = [], 0
    for match in _HEADER.finditer(text):
        out.append(prose(text[at : match.start()], path, renamed, doc=True))
        names = [word_in_code(name, path, renamed, "") for name in match[2].split(", ")]
        out.append(match[1] + ", ".join(names))
        at = match.end()
    out.append(prose(text[at:], path, renamed, doc=True))
    return "".join(out)


def code(span: str, path: str, renamed) -> str:
    if span.startswith("pieces."):
        return "fusion" + code(span[6:], path, renamed)
    if span.startswith(("](", "http")):
        return span
    inner = span.strip("`")
    if inner in SCHEDULERS and not span.startswith(":"):
        new = SCHEDULERS[inner]
        if inner == "pieces" and re.search(T.FUSION, path):
            new = "micro_batches"
        if inner == "page" and (span.startswith("``") or re.search("spmopt/(core|assemble|verifier)", path)):
            return span  # a parameter, mostly
        return span.replace(inner, new)
    if "/" in span and (not span.startswith(("`", ":")) or re.fullmatch(r"`+[\w./-]+`+", span)):
        return span
    return _CODE_WORD.sub(lambda m: word_in_code(m.group(), path, renamed, span), span)


def word_in_code(word: str, path: str, renamed, span: str) -> str:
    if word == "pieces":
        if re.search(T.NOT_PIECES, path):
            return word
        return "micro_batches" if re.search(T.FUSION, path) else "fusion"
    return renamed(word, path)


def string_name(body: str, path: str, renamed, before, two) -> str:
    """A string that is one word: a key, the name of an attribute, of an option or of a scheduler."""
    if body == "pieces":
        if re.search(T.NOT_PIECES, path):
            return body
        if re.search(r"core/(pieces|fusion)|io/(covers|pieces|fusion)|schedule_view|reporting/trace|analysis/segments", path):
            return "micro_batches"
        return "fusion"
    if body == "fuse":
        return "single-product"
    if "_" in body or body[:1].isupper():
        return renamed(body, path) if not body.isupper() else body
    return renamed(body, path) if body in T.STRING_WORDS else body


_AN = re.compile(r"\b(A|a)n(?= (?:``|`|:\w+:`|\*)?(?:problem|fusion|fused|mapping|mapper|stripe|dual|micro|residency|tileable|boundary|single|required|FusionPlan|FusedGroup|Problem|TileableGraph|ResidencyPlan|OpMapping)\b)")
_A = re.compile(r"\b(A|a)(?= (?:``|`|\*)?(?:ablation|OpMapping|object)\b)")


def fix_articles(text: str) -> str:
    return _A.sub(r"\1n", _AN.sub(r"\1", text))


def markdown(text: str, path: str, renamed) -> str:
    parts = re.split(r"(?ms)(^```.*?^```[^\n]*$)", text)
    for at, part in enumerate(parts):
        if at % 2:
            part = options(part)
            if part.startswith("```python"):
                part = _WORD.sub(lambda m: renamed(m.group(), path) if "_" in m.group() or m.group() in ("instance", "Instance", "instances") else m.group(), part)
            parts[at] = part
        else:
            parts[at] = "\n".join(
                prose(block, path, renamed) for block in part.split("\n")
            )
    return "".join(parts)


def schedulers_toml(text: str, path: str, renamed) -> str:
    """Tables are named by schedulers, their keys are fields of SchedulerEntry."""
    out, table = [], ""
    for line in text.split("\n"):
        head = re.match(r"\[(.*)\]$", line)
        match = re.match(r"([\w-]+)( = )(.*)$", line)
        if head:
            table = ".".join(
                "fusion" if part == "pieces" else "residency" if part == "page" else "space" if part == "family" else part
                for part in head[1].split(".")
            )
            line = f"[{table}]"
        elif line.startswith("#"):
            line = "#" + prose(line[1:], path, renamed)
        elif match:
            key, equals, value = match.groups()
            if table.startswith("options."):
                key = "single-product" if key == "fuse" else key
                value = re.sub(r'"((?:[^"\\]|\\.)*)"', lambda m: '"' + prose(m[1], path, renamed) + '"', value)
            else:
                key = renamed(key, path)
                if key == "starts":
                    value = value.replace('"page"', '"residency"').replace('"pieces"', '"fusion"')
                elif key == "options":
                    value = value.replace('"pieces"', '"fusion"')
                elif key in ("summary", "source"):
                    value = re.sub(r'"((?:[^"\\]|\\.)*)"', lambda m: '"' + prose(m[1], path, renamed) + '"', value)
            line = key + equals + value
        out.append(line)
    return fix_articles("\n".join(out))


def toml(text: str, path: str, renamed) -> str:
    if path == "pyproject.toml":
        for old, new in PYPROJECT:
            text = text.replace(old, new)
        return text
    if path.endswith("schedulers/schedulers.toml"):
        return schedulers_toml(text, path, renamed)
    out = []
    for line in text.split("\n"):
        if line.lstrip().startswith("#"):
            out.append("#" + prose(line.lstrip()[1:], path, renamed))
            continue
        match = re.match(r'(\s*[\w."-]+\s*=\s*)(.*)$', line)
        if match and not path.endswith(("operators.toml",)) and re.search("reporting|schedulers|results", path):
            key, value = match.groups()
            if re.search(r"reporting/|results/", path):
                key = _WORD.sub(lambda m: renamed(m.group(), path), key)
            value = re.sub(r'"((?:[^"\\]|\\.)*)"', lambda m: '"' + (value_text(m[1], path, renamed)) + '"', value)
            line = key + value
        out.append(line)
    return fix_articles("\n".join(out))


def value_text(text: str, path: str, renamed) -> str:
    if re.fullmatch(r"[A-Za-z_]\w*", text):
        return string_name(text, path, renamed, None, None)
    if re.fullmatch(r"[\w.]+:[\w]+", text):
        return _WORD.sub(lambda m: renamed(m.group(), path) if "_" in m.group() else m.group(), text)
    return prose(text, path, renamed)


_JS_SKIP = set("mode modes border borders plan plans band bands Mode segment_".split())


def script(text: str, path: str, renamed) -> str:
    if not path.endswith(".js"):
        return text

    def word(match: re.Match[str]) -> str:
        name = match.group()
        if name in _JS_SKIP or re.search(r"border|Border|mode|Mode", name):
            return name
        if name == "pieces":
            return "micro_batches"
        return renamed(name, path)

    return _WORD.sub(word, text)


TEST_NAMES = [
    (r"\bover all covers\b", "over the fusion space"),
    (r"\ball covers\b", "all fusion plans"),
    (r"\b(a|the|no|any|one|best|another|of|every|its) cover\b", r"\1 fusion plan"),
    (r"\b(of|and|its|bad|no|most|other|the|or|have) covers\b", r"\1 fusion plans"),
    (r"\b(a|the|no|any|one|another|some|each|every|of) segment\b", r"\1 fused group"),
    (r"\bsegments\b(?! and load| are those of lowering)", "fused groups"),
    (r"\binstances\b", "problems"),
    (r"\binstance\b", "problem"),
    (r"\bbands of rows\b", "stripes"),
    (r"\bbands\b", "stripes"),
    (r"\bborders\b", "boundaries"),
    (r"\bborder\b", "boundary"),
    (r"\bthe list as given\b", "layer by layer"),
    (r"\bstationary\b", "required resident"),
    (r"\bprices\b", "duals"),
    (r"\ba price\b", "a dual"),
    (r"\bstory\b", "ablation"),
    (r"\bof a family\b", "of a fusion space"),
]

# Literal replacements for special places, before all else; absent places are tolerated.
LITERAL: list[tuple[str, str]] = [
    ('    return ".".join(parts) + equals + value\n', '    return ".".join(parts) + equals + _RENAMED_VALUES.get(value, value)\n'),
    ('_SECONDS = re.compile(', '_RENAMED_VALUES: dict[str, str] = tomllib.loads((HERE / "renames.toml").read_text())["values"]\n_SECONDS = re.compile('),
    ("VERSION = 3\n", "VERSION = 4\n"),
    ('    body: Any = {name: inner for name, inner in value.items() if name not in _header(kind)}\n    if version == 1:',
     '    body: Any = {name: inner for name, inner in value.items() if name not in _header(kind)}\n    if version < 4:\n        body = rename_fields(body)\n    if version == 1:'),
    ('    found, version = value.get("format"), value.get("version")\n    if found != f"spmopt-{kind}":',
     '    version, found = value.get("version"), value.get("format")\n    found = FORMATS.get(str(found), found)\n    if found != f"spmopt-{kind}":'),
    ("from spmopt.io.pieces import PiecesDocument", "from spmopt.io.renames import FORMATS, rename_fields\nfrom spmopt.io.pieces import PiecesDocument"),
    ("        document: Any = _read_toml(path)\n    else:\n        document = read_json(path)\n",
     "        document: Any = rename_fields(_read_toml(path))\n    else:\n        document = rename_fields(read_json(path))\n"),
    ("from spmopt.io.files import read_result\n\n_KEYS", "from spmopt.io.files import read_result\nfrom spmopt.io.renames import rename_fields\n\n_KEYS"),
    ('document.get("format") == "spmopt-result"', 'document.get("format") == "spmopt-result"'),
    ("(each.pieces for each in known", "(each.fusion for each in known"),
    ("[each for each in self.results if each.pieces", "[each for each in self.results if each.fusion"),
    ('entry.choose({"family": ', 'entry.choose({"space": '),
    ('.chosen.get("family", "all")', '.chosen.get("space", "all")'),
    ('family: str = "all", ', 'space: str = "all", '),
    ("kernel.problem()", "kernel.failure()"),
    # --- names of commands, and those of the version before
    ('"story": ("story", SCHEDULES', '"ablate": ("story", SCHEDULES'),
    ('"place": ("parts", PARTS', '"allocate": ("parts", PARTS'),
    ("def story(\n    network: Network,", "def ablate(\n    network: Network,"),
    ("def place(\n    file: Annotated", "def allocate(\n    file: Annotated"),
    ('["solve"], ["compare"], ["story"]', '["solve"], ["compare"], ["ablate"]'),
    ("    words = sys.argv[1:] if arguments is None else arguments\n",
     "    words, notes = replace_former(sys.argv[1:] if arguments is None else arguments)\n"),
    ("            code = _run(words)\n", "            code = _run(words, notes)\n"),
    ("def _run(words: list[str]) -> int:", "def _run(words: list[str], notes: list[str]) -> int:"),
    ("    from spmopt.cli.terminal.output import silenced\n\n    app =",
     "    from spmopt.cli.terminal.output import print_message, silenced\n\n    app ="),
    ("        code = int(command(*bound.args, **bound.kwargs) or 0)\n",
     "        for note in notes:\n            print_message(note)\n        code = int(command(*bound.args, **bound.kwargs) or 0)\n"),
    ("    from spmopt.cli.terminal.interrupt import Interrupted, leaving\n    from spmopt.cli.terminal.streams import replace_closed",
     "    from spmopt.cli.former import replace_former\n    from spmopt.cli.terminal.interrupt import Interrupted, leaving\n    from spmopt.cli.terminal.streams import replace_closed"),
    ("    found = read_toml(path, str(path))\n    tables = {name: found.pop(name)",
     "    found, notes = replace_former_settings(read_toml(path, str(path)))\n    for note in notes:\n        print_message(f\"{note} ({path})\")\n    tables = {name: found.pop(name)"),
    ("from spmopt.cli.commands import COMMANDS\nfrom spmopt.cli.terminal.output import print_message\n",
     "from spmopt.cli.commands import COMMANDS\nfrom spmopt.cli.former import replace_former_settings\nfrom spmopt.cli.terminal.output import print_message\n"),
    ("    found = SCHEDULERS.find(plain)\n    if found is None:\n",
     "    found = SCHEDULERS.find(plain)\n    if found is None:\n        replaced = rename_scheduler(name)  # one of the version before\n        if replaced != name:\n            return find(replaced)\n"),
    ("option_name\nfrom spmopt.core.plugins import Registry\n\nif", "option_name\nfrom spmopt.core.plugins import Registry\nfrom spmopt.io.renames import rename_scheduler\n\nif"),
    # --- older sweeps and studies
    ("    names, *lines = list(csv.reader(StringIO(table))) or [[]]\n".replace("    names", "        names"),
     "        columns_read, *lines = list(csv.reader(StringIO(table))) or [[]]\n    names = [FIELDS.get(name, name) for name in columns_read]\n"),
    ("from spmopt.io.files import OLD_LOWERINGS\n", "from spmopt.io.files import OLD_LOWERINGS\nfrom spmopt.io.renames import FIELDS\n"),
    ("    known: dict[str, Any] | None = study.user_attrs.get(SETUP)\n",
     "    known: dict[str, Any] | None = rename_fields(study.user_attrs.get(SETUP))\n"),
    ("from spmopt.io.files import OLD_LOWERINGS, StoredResult\n",
     "from spmopt.io.files import OLD_LOWERINGS, StoredResult\nfrom spmopt.io.renames import rename_fields\n"),
    ('"""Yield plain walks; for each two axes the greatest blocks', '"""Yield plain walks; for each two axes the greatest blocks'),
]
# (path, pattern, replacement): before all else
LITERAL_IN: list[tuple[str, str, object]] = [
    (r"README\.md$", r"""smallest_first, "page"\]""", 'smallest_first, "residency"]'),
    (r"^tests/cli/test_pieces", r""""pieces": (?=\d)""", '"micro_batches": '),
    (r"^tests/cli/", r"""lowering differs""", "mapper differs"),
    (r"README\.md$", r"""\b(comparison|compared|table|found)\["page"\]""", lambda m: m[1] + '["residency"]'),
    (r"^tests/io/test_covers", r"""\.pieces: must be""", ".micro_batches: must be"),
    (r"^tests/io/test_covers", r"""segments = 3""", "fused_groups = 3"),
    (r"^tests/io/test_pieces", r"""certificate\.prices\.0\.price\.0""", "certificate.duals.0.dual.0"),
    (r"^tests/io/test_pieces", r"""prices\[0\]\.price\[0\]""", "duals[0].dual[0]"),
    (r"^tests/api/test_results", r"""did you mean page""", "did you mean residency"),
    (r"^tests/api/test_results", r"""\["pag"\]""", '["residenc"]'),
    (r"^tests/api/test_results", r"""\["page"\]""", '["residency"]'),
    (r"^tests/io/test_pieces", r"""loop\["pieces"\]""", 'loop["micro_batches"]'),
    (r"^tests/io/test_covers", r""""pieces": """, '"micro_batches": '),
    (r"^tests/", r"""\binstall\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)""",
     lambda m: re.sub(r"(?<=[ (])page=", "residency=", re.sub(r"(?<=[ (])pieces=", "fusion=", m[0]))),
    (r"^tests/api/", r"must be an instance", "must be Problem"),
    (r"^tests/api/", r"must be Problem .spmopt.lower", "must be Problem .spmopt.lower"),
    (r"^spmopt/(reporting|api)/.*py$", r"""pieces=(?=\{)""", "fusion="),
    (r"^tests/io/test_costs", "costs of pieces", "costs of fusion tiles"),
    (r"\.md$", r"""#covers\)""", "#fusion-plans)"),
    (r"^tests/io/test_round_trip", r"""part\["version"\] == 3""", 'part["version"] == 4'),
    (r"^results/claims/run", r"""\(TEXT, "page"\)""", '(TEXT, "residency")'),
    (r"^results/execution/networks", r"""GREEDY\[4\], "page"\)""", 'GREEDY[4], "residency")'),
    (r"^results/(page|scale)/run", r"""(case|TINY), "page", "time\"""", None),
    (r"^results/(page|scale)/run", r"""case.spm, "page"\)""", 'case.spm, "residency")'),
    (r"^tests/api/test_results", r"""excess\("page"\)""", 'excess("residency")'),
    (r"^tests/api/test_results", r"""assert "page" in text""", 'assert "residency" in text'),
    (r"^tests/api/test_results", r"""B: page\"""", 'B: residency"'),
    (r"^tests/api/test_arguments", r"""schedulers 'page': must""", "schedulers 'residency': must"),
    (r"\.(py|md)$", r"""\bscheduler page\b""", "scheduler residency"),
    (r"\.py$", r"""\bscheduler pieces\b""", "scheduler fusion"),
    (r"^spmopt/|^tests/", r"""name another scheduler, as page\b""", "name another scheduler, as residency"),
    (r"^spmopt/|^tests/", r"""(?<=")use page(?=")""", "use residency"),
    (r"^spmopt/cli", r"""default: pieces or page\b""", "default: fusion or residency"),
    (r"^spmopt/api/solutions", r"""comparison\["page"\]""", 'comparison["residency"]'),
    (r"^tests/cli/test_banks", r"""assert "page" not in results""", 'assert "residency" not in results'),
    (r"^tests/cli/test_fusion|^tests/cli/test_pieces", r"""\(listed, "page"\)""", '(listed, "residency")'),
    (r"^tests/", r""""-s", "page\"""", '"-s", "residency"'),
    (r"^tests/", r""""-s", "lru,page\"""", '"-s", "lru,residency"'),
    (r"^tests/solving/", r"""SCHEDULERS\["page"\]""", 'SCHEDULERS["residency"]'),
    (r"^tests/solving/", r"""SCHEDULERS, "page": """, 'SCHEDULERS, "residency": '),
    (r"^tests/solving/", r""""msa", "page", "whole\"""", '"msa", "residency", "whole"'),
    (r"^tests/solving/", r"""\("page", (?=MAKESPAN|TRAFFIC|ENERGY)""", '("residency", '),
    (r"^tests/solving/", r"""schedule_all\("page\"""", 'schedule_all("residency"'),
    (r"^tests/solving/", r"""requests\["page"\]""", 'requests["residency"]'),
    (r"^tests/solving/", r""""page", "whole"\]""", '"residency", "whole"]'),
    (r"^tests/tiles/", r""""page", Request\(""", '"residency", Request('),
    (r"^tests/tiles/", r"""\["double-buffer", "page"\]""", '["double-buffer", "residency"]'),
    (r"^tests/tiles/", r"""\("double-buffer", "page"\)""", '("double-buffer", "residency")'),
    (r"^tests/tiles/", r"""\("page", "shared"\)""", '("residency", "shared")'),
    (r"^(tests|spmopt)/tiles/", r"""replacement( ?==? ?)"page\"""", None),
    (r"^tests/golden/test_version1", r"""\("page", "page", """, '("page", "residency", '),
    (r"^tests/golden/commands", r"""double-buffer,belady,page """, "double-buffer,belady,residency "),
    (r"^spmopt/solving/checked_calls", r"""= "page\"""", '= "residency"'),
    (r"^tests/io/test_errors", r"""version": 4}', "version is 4""", """version": 5}', "version is 5"""),
    (r"^tests/(cli|fuzz)/", r"""(?<=["'(])story (?=[^"\n]*["'{])""", "ablate "),
    (r"^tests/cli/", r"""(?<=["'])place (?=[{\w])""", "allocate "),
    (r"^tests/(cli|fuzz)/", r"""(?<=[(])"place", (?=["'s])""", '"allocate", '),
    (r"^tests/golden/commands", r"""(?<=")place (?=instances)""", "allocate "),
    (r"\.(py|md|json|toml)$", r"\bspmopt story\b", "spmopt ablate"),
    (r"\.(py|md|json|toml)$", r"\bspmopt place\b", "spmopt allocate"),
    (r"\.(py|md|json|toml)$", r"\bspmopt instance\b", "spmopt problem"),
]


def literal_in(text: str, path: str) -> str:
    for place, pattern, new in LITERAL_IN:
        if re.search(place, path):
            text = re.sub(pattern, lambda m: new(m) if callable(new) else m[0].replace("page", "residency") if new is None else new, text)
    return text

AFTER: list[tuple[str, str]] = [
    ('read_problem(CORPUS / "problem.json")', 'read_problem(CORPUS / "instance.json")'),
    ("for each two axes the greatest blocks that fit beside streamed operands.", "for each two axes the largest blocks that fit beside the streams."),
]


_IS_SCHEDULER = re.compile(
    r"solve\(|compare\(|compared\[|comparison\[|table\[|scheduler|find\(|picture\(|record\(|result\(|schedule\(|stored\(|Incumbent|\badd\(|"
    r"\"(stream|lru|belady|belady-size|whole|fluid|contiguous|pieces|banks|joint|msa)\"|_EXACT|OPTIMAL|OPTIMUM|optimum|reach\(|label|_network\(|Case\(|save\(|\"not_run\"|results\[|priced\(|rows\(\)|\(\"page\",\)|verdict"
)
_NO_SCHEDULER = re.compile(
    r'"page": ("?\d|\(|page|first)|granularity|by_rank|residency|spread_transfers|brute_force|small_optimum|[^_]value\(|Rules\(|kind|named\("page"|label="page"|spm_page|\brects|curves_page|page_of|sampled_from|brute\('
)


def is_scheduler(string: str, line: str, path: str) -> bool:
    if string == '"pieces"':
        return bool(_IS_SCHEDULER.search(line.replace('"pieces"', ""))) and not re.search(r"io/|core/|fuzz/recipes", path)
    if re.search(r"^(spmopt/(policies|cli/parts|hardware|verifier|reporting/(curves|page))|tests/(policies|fuzz/(recipes|bases)))", path):
        return bool(re.search(r"scheduler|solve\(|compare\(|SEARCHING", line))
    return bool(_IS_SCHEDULER.search(line)) and not _NO_SCHEDULER.search(line)
