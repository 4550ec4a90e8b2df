"""Files and modules with another name; ruff and lines that became too long afterwards."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

# path of today -> path
FILES = {
    "spmopt/core/border.py": "spmopt/core/validation.py",
    "spmopt/core/pieces": "spmopt/core/fusion",
    "spmopt/core/pieces/listing.py": "spmopt/core/fusion/tileable_graph.py",
    "spmopt/core/pieces/segments.py": "spmopt/core/fusion/fused_groups.py",
    "spmopt/core/pieces/family.py": "spmopt/core/fusion/fusion_space.py",
    "spmopt/core/pieces/band_borders.py": "spmopt/core/fusion/stripe_boundaries.py",
    "spmopt/core/pieces/band_bounds.py": "spmopt/core/fusion/stripe_bounds.py",
    "spmopt/core/instance.py": "spmopt/core/problem.py",
    "spmopt/core/modes.py": "spmopt/core/mappings.py",
    "formulations/covers": "formulations/fusion",
    "formulations/covers/segment.py": "formulations/fusion/fused_group.py",
    "formulations/covers/border_prices.py": "formulations/fusion/boundary_duals.py",
    "formulations/covers/border_costs.py": "formulations/fusion/boundary_costs.py",
    "formulations/covers/borders.py": "formulations/fusion/boundaries.py",
    "formulations/covers/listed.py": "formulations/fusion/tileable.py",
    "formulations/residency/byte_prices.py": "formulations/residency/byte_duals.py",
    "formulations/residency/bound/prices.py": "formulations/residency/bound/duals.py",
    "formulations/residency/banks/prices.py": "formulations/residency/banks/duals.py",
    "formulations/residency/states/prices.py": "formulations/residency/states/duals.py",
    "spmopt/api/covers.py": "spmopt/api/fusion.py",
    "spmopt/api/lowering.py": "spmopt/api/mapper.py",
    "spmopt/api/stories.py": "spmopt/api/ablations.py",
    "spmopt/api/placing.py": "spmopt/api/allocation.py",
    "spmopt/cli/story.py": "spmopt/cli/ablation.py",
    "spmopt/io/pieces.py": "spmopt/io/fusion.py",
    "spmopt/io/covers.py": "spmopt/io/fusion_plans.py",
    "spmopt/audit/pieces.py": "spmopt/audit/fusion.py",
    "spmopt/audit/boxes.py": "spmopt/audit/boxes.py",
    "spmopt/graph/listing.py": "spmopt/graph/tileable.py",
    "spmopt/tiles/passes.py": "spmopt/tiles/fetches.py",
    "spmopt/analysis/segments.py": "spmopt/analysis/fused_groups.py",
    "spmopt/reporting/segments.py": "spmopt/reporting/fused_groups.py",
    "spmopt/reporting/covers.py": "spmopt/reporting/fusion_plans.py",
    "spmopt/reporting/story": "spmopt/reporting/ablation",
    "spmopt/reporting/schedule_view/segments.py": "spmopt/reporting/schedule_view/fused_groups.py",
    "spmopt/solving/at_once.py": "spmopt/solving/run_parallel.py",
    "spmopt/verifier/cover_bound.py": "spmopt/verifier/fusion_bound.py",
    "spmopt/verifier/segment_bound.py": "spmopt/verifier/fused_group_bound.py",
    "spmopt/verifier/segment_ends.py": "spmopt/verifier/fused_group_ends.py",
    "spmopt/verifier/segment_uses.py": "spmopt/verifier/fused_group_uses.py",
    "spmopt/verifier/border_credit.py": "spmopt/verifier/boundary_credit.py",
    "spmopt/verifier/piece_maps.py": "spmopt/verifier/tile_maps.py",
    "spmopt/verifier/piece_accesses.py": "spmopt/verifier/tile_accesses.py",
    "spmopt/verifier/pieces.py": "spmopt/verifier/fusion_tiles.py",
    "spmopt/verifier/price_check.py": "spmopt/verifier/dual_check.py",
    "tests/formulations/covers": "tests/formulations/fusion",
    "tests/formulations/covers/random_listing.py": "tests/formulations/fusion/random_tileable_graph.py",
    "tests/formulations/covers/test_bands.py": "tests/formulations/fusion/test_stripes.py",
    "tests/formulations/covers/test_segments.py": "tests/formulations/fusion/test_fused_groups.py",
    "tests/formulations/covers/test_border_prices.py": "tests/formulations/fusion/test_boundary_duals.py",
    "tests/formulations/covers/border_prices.py": "tests/formulations/fusion/boundary_duals.py",
    "tests/explain/test_segments.py": "tests/explain/test_fused_groups.py",
    "tests/reporting/test_segments.py": "tests/reporting/test_fused_groups.py",
    "tests/reporting/story": "tests/reporting/ablation",
    "tests/api/test_stories.py": "tests/api/test_ablations.py",
    "tests/stories.py": "tests/ablations.py",
    "tests/graph/test_cover.py": "tests/graph/test_fusion_plan.py",
    "tests/io/test_covers.py": "tests/io/test_fusion_plans.py",
    "tests/io/test_pieces.py": "tests/io/test_fusion.py",
    "tests/cli/test_pieces.py": "tests/cli/test_fusion.py",
    "tests/cli/test_place.py": "tests/cli/test_allocate.py",
    "tests/in_pieces.py": "tests/fused.py",
    "tests/search/test_pieces.py": "tests/search/test_fusion.py",
    "tests/sweeps/test_pieces.py": "tests/sweeps/test_fusion.py",
    "tests/solving/test_pieces.py": "tests/solving/test_fusion.py",
    "tests/solving/test_audit_pieces.py": "tests/solving/test_audit_fusion.py",
    "tests/solving/test_all_covers.py": "tests/solving/test_fusion_space.py",
    "tests/verifier/test_pieces.py": "tests/verifier/test_fusion_tiles.py",
    "tests/golden/kept/instance.exit.txt": "tests/golden/kept/problem.exit.txt",
    "tests/golden/kept/instance.ncf.json": "tests/golden/kept/problem.ncf.json",
    "tests/golden/kept/instance.txt": "tests/golden/kept/problem.txt",
    "tests/golden/kept/compare-modes.exit.txt": "tests/golden/kept/compare-mappings.exit.txt",
    "tests/golden/kept/compare-modes.json": "tests/golden/kept/compare-mappings.json",
    "tests/golden/kept/compare-convolution.page.json": "tests/golden/kept/compare-convolution.residency.json",
    "tests/cli/test_story.py": "tests/cli/test_ablate.py",
    "spmopt/reporting/page/styles/story.css": "spmopt/reporting/page/styles/ablation.css",
    "spmopt/reporting/page/scripts/story.js": "spmopt/reporting/page/scripts/ablation.js",
    "spmopt/reporting/page/story.html": "spmopt/reporting/page/ablation.html",
    "tests/verifier/naive_pieces.py": "tests/verifier/naive_fusion_tiles.py",
}


def dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


# modules, longest first, so that a file wins over its folder
MODULES = sorted(
    ((dotted(old), dotted(new)) for old, new in FILES.items() if old != new), key=lambda m: -len(m[0])
)
_SMALL = {old: new for old, new in MODULES}
_MODULE = re.compile(
    r"(?<![\w./])(" + "|".join(re.escape(old) for old, _ in MODULES) + r")(?![\w])"
)
_PATHS = sorted(((old, new) for old, new in FILES.items() if old != new), key=lambda m: -len(m[0]))
_PATH = re.compile(r"(?<![\w.])(" + "|".join(re.escape(old) for old, _ in _PATHS) + r")(?![\w])")
_PATH_OF = dict(_PATHS)
# from PACKAGE import MODULE
_FROM = re.compile(r"(?m)^(\s*)from (\S+) import ([^\n(]+|\([^)]*\))$")


def modules(text: str) -> str:
    def within(match: re.Match[str]) -> str:
        space, package, names = match.groups()
        changed = re.sub(
            r"\b[a-z_]\w*\b",
            lambda one: last(package, one.group()),
            names,
        )
        return f"{space}from {package} import {changed}"

    text = _FROM.sub(within, text)
    text = _MODULE.sub(lambda m: _SMALL[m.group(1)], text)
    return _PATH.sub(lambda m: _PATH_OF[m.group(1)], text)


def last(package: str, name: str) -> str:
    new = _SMALL.get(f"{package}.{name}")
    return name if new is None else new.rpartition(".")[2] if new.rpartition(".")[2] == name else f"{new.rpartition('.')[2]}"


def move(root: Path) -> None:
    # Folders last: their files are moved to the new folder one by one.
    for old, new in sorted(FILES.items(), key=lambda m: -len(m[0])):
        if old == new or not (root / old).exists():
            continue
        source, target = root / old, root / new
        if source.is_dir():
            for file in sorted(source.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    to = target / file.relative_to(source)
                    to.parent.mkdir(parents=True, exist_ok=True)
                    file.rename(to)
            subprocess.run(["rm", "-rf", str(source)], check=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)


def tidy(root: Path) -> None:
    ruff = str(root / ".venv/bin/ruff")
    for command in (
        ["format", "-q", "."],
        ["check", "-q", "--fix", "--select", "I,RUF022", "."],
    ):
        subprocess.run([ruff, *command], cwd=root, check=False)
    import wrap

    for _ in range(4):
        out = subprocess.run(
            [ruff, "check", "--select", "E501", "--output-format", "concise", "."],
            cwd=root, capture_output=True, text=True, check=False,
        ).stdout
        places: dict[str, set[int]] = {}
        for line in out.splitlines():
            match = re.match(r"(.*?):(\d+):\d+: E501", line)
            if match:
                places.setdefault(match[1], set()).add(int(match[2]))
        if not places:
            break
        for file, numbers in places.items():
            path = root / file if not file.startswith("/") else Path(file)
            text = path.read_text()
            path.write_text(wrap.shorten(text, numbers))
        subprocess.run([ruff, "format", "-q", "."], cwd=root, check=False)
