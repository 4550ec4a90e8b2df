"""What the command for tiles takes: machines of SCALE-Sim, rates, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import Run
from tests.cli.test_failures import refused

TOPOLOGIES = Path(__file__).parents[2] / "instances" / "scalesim"
LENET = TOPOLOGIES / "lenet5.csv"
GEMM = "--gemm 90x120x100 --spm 64KiB --page 512B --jobs 1"
PRODUCT = "Layer, M, N, K,\n"


def test_the_rate_shown_is_that_of_the_array(run: Run) -> None:
    line = "tiles --gemm 20x20x20 --order sequential --jobs 1"
    head = run(f"{line} --set array.rows=8").out.splitlines()[0]
    assert "720 GFLOP/s, 1 GHz, 8 x 45 array" in head  # 2 x 8 x 45 x 1 GHz
    two = f"{line} --cores 2 --tile 10x10x10"
    slow, fast = (run(f"{two} {more}").out for more in ("", "--set array.rows=90"))
    assert "8.1 TFLOP/s" in slow.splitlines()[0]
    assert "16.2 TFLOP/s" in fast.splitlines()[0]


def test_no_array_no_rate_of_one(run: Run) -> None:
    line = "tiles --gemm 20x20x20 --machine rtx2080ti --order sequential --jobs 1"
    assert "1 TFLOP/s" in run(f"{line} --throughput 1TFLOP/s").out.splitlines()[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "name a network, an ONNX file or a topology (.csv); or give --gemm MxKxN alone"),
        ("lenet.csv", "lenet.csv: cannot be read (No such file or directory); name"),
        ("resnet51", "no network called 'resnet51'; did you mean resnet50?"),
        ("t.json", "t.json: is lowered already"),
        (f"{LENET} --gemm 1x1x1", "or give --gemm MxKxN alone"),
        ("--gemm 0x1x1", "gemm '0x1x1': write three sizes of at least 1"),
        ("--gemm 5x5", "gemm '5x5': write three sizes"),
        (f"{GEMM} --batch 2", "batch: one product has none; name a network"),
        (f"{LENET} --param a=1", "lenet5.csv is a topology; name a network"),
        (f"{LENET} --products-of-activations", f"products_of_activations: {LENET} is a topology"),
        (f"{LENET} --batch 0", "batch 0: must be at least 1"),
        (f"{LENET} --only foo", "only 'foo': no layer has these words in its name, as C1, C3"),
        (f"{GEMM} --cores 0", "0 cores; give at least 1"),
        (f"{GEMM} --cores 2 --partition none", "2 cores need a partition; give one, as m/2"),
        (f"{GEMM} --order sequental", "no order called 'sequental'; did you mean sequential?"),
        (f"{GEMM} --order ,", "--order: name at least one"),
        (f"{GEMM} --replacement lp-bound", "gives a bound, no schedule; name another"),
        (f"{GEMM} --partition m", "partition 'm': write m/2, k/2 or n/2"),
        (f"{GEMM} --tile 4x4", "tile '4x4': write three sizes of at least 1"),
        (f"{GEMM} --element-bytes 0", "elements of 0 bytes"),
        (f"{GEMM} --objective energy", "choose time or traffic"),
        (f"{GEMM} --time-limit nan", "--time-limit nan: must be a number, 0 or more"),
        (
            f"{GEMM} --throughput 0.01TFLOP/s",
            "throughput is 10 GFLOP/s, but the array of 45 x 45 does 4.05 TFLOP/s at 1 GHz",
        ),
        (f"{GEMM} --jobs 0", "--jobs 0: must be at least 1"),
        (f"{GEMM} --machine tpu", "no machine called 'tpu'"),
        (f"{GEMM} --tile 90x120x100 --spm 8KiB", "gemm: layer 90x120x100: tiles of m 90"),
        (f"{GEMM} -o /dev/null/rows.csv", "a folder is needed"),
        (f"{LENET} -o {LENET}", "would replace the file that is read; name another"),
    ],
)
def test_bad_input_gets_one_line(run: Run, line: str, said: str) -> None:
    assert said in refused(run(f"tiles {line}"))


@pytest.mark.parametrize(
    ("lines", "options", "said"),
    [
        ("a,4,4,4,\nb,4,0,4,\n", "", "line 3: layer b: N is '0'; write a whole number"),
        ("a,4,4,\n", "", "line 2: layer a: 2 numbers, but 3 are needed; add K"),
        ("a,4,x,4,\n", "", "line 2: layer a: N is 'x'"),
        (
            "a,4,4,4,\n\n# all\nb,512,512,512,\n",
            "--tile 512x512x512 --jobs 1",
            "line 5: layer b: tiles of m 512, k 512, n 512 need ",
        ),
        (
            "a,4,4,4,\n",
            "--spm 4096B --page 4KiB --jobs 1",
            "line 2: layer a: no tile fits in half of the SPM",
        ),
        (
            "a,4,4,4,\nb,99999999999,4,3,\n",
            "",
            "line 3: layer b: M 99999999999, K 3, N 4 take more than 500,000 tile products",
        ),
        (
            "a,4,4,4,\na,999,99,99,\n",
            "--tile 1x1x1",
            "line 3: layer a (line 3): tiles of 1x1x1 make 9,791,199 tile products a gradient",
        ),
    ],
)
def test_bad_lines_are_named(run: Run, tmp_path: Path, lines: str, options: str, said: str) -> None:
    path = tmp_path / "layers.csv"
    path.write_text(PRODUCT + lines)
    assert f"{path}, {said}" in refused(run(f"tiles {path} {options}"))
