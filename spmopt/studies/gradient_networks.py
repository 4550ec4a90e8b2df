"""Networks and batch sizes of Kim et al., MICRO 2023, as networks of the zoo.

Its Table 4 gives names and parameters only. Six of the names (FasterRCNN, Googlenet,
NCF-recommendation, Resnet50, DLRM, Mobilenet) are those of topologies that come with SCALE-Sim,
which its simulator is built on. Millions of parameters:

| name | paper | here | zoo | why they differ |
|---|--:|--:|---|---|
| rcnn | 19 | 19.4 | faster-rcnn | torchvision's 19,386,354, and 24,400 that it freezes (1) |
| goo | 62 | 6.6 | googlenet | published: 6.6, or 13.0 with its auxiliary classifiers (2) |
| ncf | 3000 | 586.3 | ncf | MLPerf's widths, 192 a row, on its largest tables (3) |
| res | 25 | 25.6 | resnet50 | rounded down |
| dlrm | 25000 | 24036.6 | dlrm | MLPerf's 187,767,399 rows of 128, "25+ billion" elsewhere |
| mob | 13 | 4.2 | mobilenet | published: 4.2, for the widest (2) |
| yolo | 47 | 46.6 | yolov5l | rounded up |
| yolo | 11 | 11.2 | yolov2-tiny | rounded down |
| bert | 340 | 335.1 | bert-large | its paper says 340, the checkpoint with pooler holds 335.1 |
| bert | 14 | 14.4 | tinybert | TinyBERT of 4 layers; BERT-tiny, of 2, has 4.4 |
| T5 | 770 | 737.7 | t5-large | its paper says 770, the checkpoint holds 737.7 |
| T5 | 60 | 60.5 | t5-small | rounded down |

1. The scales and shifts of batch normalisation. SCALE-Sim's FasterRCNN, the first three stages of
   ResNet-50 and the proposals, has 13.3 (``faster-rcnn-resnet50``), and may be what was run.
2. 62 fits AlexNet (61.1); 13 fits SCALE-Sim's FasterRCNN and the full GoogLeNet. Rows of the
   paper's table may be mixed up.
3. 3,053,001 users and items; 3000 would take 983 a row.

Of DLRM and NCF only the rows that are looked up are moved; sizes of tables change no layer.
"""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.frontends import zoo
from spmopt.graph.ir import Graph

SMALL, LARGE = "small-npu", "large-npu"
BATCHES = {SMALL: 4, LARGE: 8}
"""Batch size of each machine, of the large one for each core (section 6.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperNetwork:
    """A network on one of the two machines.

    Attributes
    ----------
    abbreviation
        In the paper's figures.
    machine
        Preset that it runs on.
    name, parameters
        In the zoo, and what is not the zoo's default.
    millions
        Parameters in the paper's Table 4.
    sizes
        Where image sizes or sequence lengths come from, which the paper does not give.
    """

    abbreviation: str
    machine: str
    name: str
    millions: int
    sizes: str
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def batch(self) -> int:
        """Samples of a training step."""
        return BATCHES[self.machine]

    def graph(self) -> Graph:
        """Return its forward graph."""
        return zoo.network(self.name, batch=self.batch, **dict(self.parameters))


_IMAGENET = "224 x 224, as published"
_TABLES = "one row of each table a sample, as published"
_REGIONS = "assumption: 320 x 320 (the least side of torchvision's small variant), 512 regions"
_LONGEST = "assumption: 512 tokens, the longest input"
_PRE_TRAINING = "assumption: 512 and 114 tokens, as in pre-training"
_BOTH = (
    ("rcnn", "faster-rcnn", 19, _REGIONS),
    ("goo", "googlenet", 62, _IMAGENET),
    ("ncf", "ncf", 3000, _TABLES),
    ("res", "resnet50", 25, _IMAGENET),
    ("dlrm", "dlrm", 25_000, _TABLES),
    ("mob", "mobilenet", 13, _IMAGENET),
)


def _of(machine: str) -> tuple[PaperNetwork, ...]:
    small = machine == SMALL
    sized = (
        ("yolo", "yolov2-tiny", 11, "416 x 416, as published")
        if small
        else ("yolo", "yolov5l", 47, "640 x 640, as published"),
        ("bert", "tinybert", 14, _LONGEST) if small else ("bert", "bert-large", 340, _LONGEST),
        ("T5", "t5-small", 60, _PRE_TRAINING) if small else ("T5", "t5-large", 770, _PRE_TRAINING),
    )
    return tuple(
        PaperNetwork(
            abbreviation=abbreviation,
            machine=machine,
            name=name,
            millions=millions,
            sizes=sizes,
            parameters=(("sequence", 512),) if abbreviation == "bert" else (),
        )
        for abbreviation, name, millions, sizes in (*_BOTH, *sized)
    )


PAPER_NETWORKS = (*_of(SMALL), *_of(LARGE))
"""All networks on the small machine, then on the large one, in the order of Table 4."""
