"""Results that show themselves: the command line's figures, as text and as HTML."""

from dataclasses import replace
from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.problem import Problem
from spmopt.io.files import read_problem, read_result, write_result
from spmopt.reporting.comparison import compare_view
from spmopt.reporting.tables import MOST_ROWS, Grid, as_html
from tests.api.html import Page
from tests.cli.run import Run

PROBLEMS = Path(__file__).parents[2] / "instances"
HOSTILE = '<script>alert("1")</script> & \N{SNOWMAN} ' + "x" * 200


@pytest.fixture(scope="module")
def case() -> Problem:
    return read_problem(PROBLEMS / "mlp.json")


@pytest.fixture(scope="module")
def compared(case: Problem) -> spmopt.ComparisonTable:
    return spmopt.compare(case, ["lru", "residency", "lp-bound"])


def test_a_comparison_is_that_of_the_command_line(
    compared: spmopt.ComparisonTable, run: Run
) -> None:
    view = compare_view(compared.problem, compared.results)
    page = Page(compared._repr_html_())
    assert page.paragraphs == [view.heading, *view.remarks]
    assert page.tables == [[list(view.columns), *map(list, view.rows)]]
    printed = run(f"compare {PROBLEMS / 'mlp.json'} -s lru,residency,lp-bound").out.splitlines()
    assert str(compared).splitlines() == printed


def test_a_result_shows_the_figures_of_its_sheet(compared: spmopt.ComparisonTable) -> None:
    solved = compared["residency"]
    lines = str(solved).splitlines()
    page = Page(solved._repr_html_())
    (table,) = page.tables
    assert [f"{name:<12} {text}" for name, text in table] == lines[2:]
    assert page.paragraphs == [lines[0]]
    assert ["status", "optimal"] in [list(row) for row in table]


def test_an_explanation_has_a_table_for_each_of_the_command_lines(
    compared: spmopt.ComparisonTable, run: Run, tmp_path: Path
) -> None:
    compared["residency"].save(tmp_path / "r.json")
    for per in (None, "layer", "tensor"):
        explained = spmopt.explain(compared["residency"], per=per)
        option = "" if per is None else f" --per {per}"
        printed = run(f"explain {tmp_path / 'r.json'}{option}").out
        assert str(explained) == printed.rstrip("\n")
        page = Page(explained._repr_html_())
        assert len(page.tables) == (3 if per is None else 4)
        for table in page.tables:
            for row in table:
                for cell in row:
                    assert cell in printed


def test_names_are_text(case: Problem) -> None:
    tensors = tuple(replace(each, name=f"{HOSTILE}{k}") for k, each in enumerate(case.tensors))
    operations = tuple(
        replace(each, name=f"{HOSTILE}{k}") for k, each in enumerate(case.operations)
    )
    named = replace(case, name=HOSTILE, tensors=tensors, operations=operations)
    solved = spmopt.solve(named, "lru")
    assert HOSTILE in Page(solved._repr_html_()).paragraphs[0]
    names = {
        row[0] for row in Page(spmopt.explain(solved, per="tensor")._repr_html_()).tables[-2][1:]
    }
    assert names == {each.name for each in tensors}
    (image,) = Page(spmopt.plot(solved, picture="occupancy")._repr_html_()).images
    assert HOSTILE in str(image["alt"])


def test_a_picture_is_inline(compared: spmopt.ComparisonTable, tmp_path: Path) -> None:
    drawn = spmopt.plot(compared["residency"], picture="occupancy")
    (image,) = Page(drawn._repr_html_()).images
    assert str(image["src"]).startswith("data:image/png;base64,")
    drawn.save(tmp_path / "o.png")
    assert (tmp_path / "o.png").read_bytes() == drawn._repr_png_()
    with pytest.raises(InputError, match="not a picture format"):
        drawn.save(tmp_path / "o.docx")
    both = spmopt.plot([compared["lru"], compared["residency"]])
    assert str(both) == f"compare of {compared.problem.name}, A: lru; B: residency"


def test_files(compared: spmopt.ComparisonTable, tmp_path: Path) -> None:
    solved = compared["residency"]
    path = tmp_path / "r.json"
    solved.save(path)
    again = spmopt.read(path)
    assert again.result.value == solved.result.value
    assert again.versions.keys() == {"spmopt", "python"}
    page = spmopt.report([solved, compared["lru"]])
    with pytest.raises(InputError, match=r"a page is HTML; let the name end in \.html"):
        page.save(tmp_path / "p.pdf")
    assert not (tmp_path / "p.pdf").exists()
    page.save(tmp_path / "p.html")
    assert "<html" in (tmp_path / "p.html").read_text(encoding="utf-8")
    spmopt.trace(solved, timing="async").save(tmp_path / "t.json")
    assert '"traceEvents"' in (tmp_path / "t.json").read_text(encoding="utf-8")
    stored = read_result(path)
    value = stored.result.value
    assert value is not None
    write_result(path, replace(stored, result=replace(stored.result, value=value + 1)))
    with pytest.raises(ScheduleError, match="not verified"):
        spmopt.read(path)


def test_the_best_and_how_far_the_others_are(compared: spmopt.ComparisonTable) -> None:
    assert compared.best.result.scheduler == "residency"
    assert [each.result.scheduler for each in compared] == ["lru", "residency", "lp-bound"]
    assert len(compared) == 3
    least, most = compared.excess("lru")
    lru, page = compared["lru"].result, compared["residency"].result
    assert lru.value is not None
    assert page.value is not None
    assert page.bound is not None
    assert least == pytest.approx(float(lru.value / page.value) - 1)
    assert least <= most == pytest.approx(float(lru.value / page.bound) - 1)
    assert compared.excess("residency")[0] == 0


def test_what_is_not_there_is_said(compared: spmopt.ComparisonTable, case: Problem) -> None:
    with pytest.raises(InputError, match="did you mean residency"):
        compared["residenc"]
    with pytest.raises(InputError, match="lp-bound: needs a schedule"):
        compared.excess("lp-bound")
    with pytest.raises(InputError, match="mlp, lp-bound: holds no schedule, but a bound on"):
        spmopt.explain(compared["lp-bound"])
    with pytest.raises(InputError, match="name at least one"):
        spmopt.compare(case, [])
    nothing = spmopt.compare(read_problem(PROBLEMS / "infeasible.json"), ["lru"])
    assert "infeasible" in str(nothing)
    with pytest.raises(InputError, match="no scheduler of the comparison has a schedule"):
        _ = nothing.best


def test_problems_are_those_of_the_command_line(run: Run, tmp_path: Path) -> None:
    workload = spmopt.load("bert-tiny", batch=2, training=True)
    machine = spmopt.machine(spm="1MB", settings={"energy.mac_pj": 1.5})
    made = spmopt.lower(workload, machine)
    options = "--batch 2 --training --spm 1MB --set energy.mac_pj=1.5"
    assert run(f"problem bert-tiny {options} -o {tmp_path / 'i.json'}").code == 0
    assert read_problem(tmp_path / "i.json") == made
    assert spmopt.lower(spmopt.load(tmp_path / "i.json")) == made
    with pytest.raises(InputError, match="bert-tin"):
        spmopt.load("bert-tin")
    assert len(spmopt.machine(bank=["1MB:nvsim-sram"]).banks) == 1


def test_usual_schedulers_know_the_objective(case: Problem) -> None:
    names = [each.result.scheduler for each in spmopt.compare(case, objective="replay")]
    assert {"residency", "lru", "lp-bound"} <= {*names}
    assert "joint" not in names


def test_long_tables_are_cut() -> None:
    rows = [(str(number),) for number in range(MOST_ROWS + 7)]
    page = Page(as_html([Grid(columns=("a",), rows=rows)]))
    assert len(page.tables[0]) == MOST_ROWS + 1
    assert page.paragraphs == ["and 7 more rows"]


def test_show_uses_what_a_notebook_offers(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    compared: spmopt.ComparisonTable,
) -> None:
    spmopt.show(compared["residency"])
    assert capsys.readouterr().out == f"{compared['residency']}\n"
    shown: list[object] = []
    monkeypatch.setattr("builtins.display", shown.append, raising=False)
    spmopt.show(compared)
    assert shown == [compared]
    assert repr(compared) == str(compared)
    assert len(repr(spmopt.plot(compared["residency"], picture="map"))) < 200
    spmopt.show("a text")
    assert capsys.readouterr().out == "a text\n"
    assert capsys.readouterr().out == ""


def test_a_notebook_gets_no_output_beside_what_it_asks_for(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    compared: spmopt.ComparisonTable,
) -> None:
    """rich displays lines by itself where it finds itself in a notebook."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    text = repr(compared)
    assert capsys.readouterr() == ("", "")
    assert "residency" in text


def test_an_problem_is_a_line_in_a_notebook(case: Problem) -> None:
    counts = f"{len(case.operations)} operations, {len(case.tensors)} tensors"
    assert repr(case) == f"<Problem {case.name}: {counts}, on {case.machine.name}>"


@pytest.mark.parametrize("tolerance", ["0.1%", -1.0, float("nan"), None])
def test_a_tolerance_that_makes_no_sense_is_said_in_one_line(
    case: Problem, tolerance: object
) -> None:
    problem = "a number, 0 or more" if isinstance(tolerance, float) else "float"
    with pytest.raises(InputError, match=f"^tolerance '?{tolerance}'?: must be {problem}"):
        spmopt.solve(case, tolerance=tolerance)  # type: ignore[arg-type]


def test_a_file_is_no_problem() -> None:
    with pytest.raises(InputError, match=r"^problem 'model.onnx': must be Problem .spmopt.lower"):
        spmopt.solve("model.onnx", "residency")  # type: ignore[arg-type]
