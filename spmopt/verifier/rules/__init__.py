"""The rules of a legal schedule, one function each (PROBLEM.md, section 3)."""

from spmopt.verifier.rules.address import rule_r8
from spmopt.verifier.rules.contents import rule_r5, rule_r7
from spmopt.verifier.rules.format import rule_r0
from spmopt.verifier.rules.moves import rule_r2, rule_r3, rule_r4
from spmopt.verifier.rules.retention import rule_r12
from spmopt.verifier.rules.steps import rule_r1, rule_r6, rule_r9, rule_r10, rule_r11, totals

RULES = (
    *(rule_r1, rule_r2, rule_r3, rule_r4, rule_r5, rule_r7, rule_r8, rule_r9, rule_r10),
    rule_r11,
)
"""Those that need the view only; R0 comes before it, R12 after it, R6 compares a claim."""

__all__ = [
    "RULES",
    "rule_r0",
    "rule_r1",
    "rule_r2",
    "rule_r3",
    "rule_r4",
    "rule_r5",
    "rule_r6",
    "rule_r7",
    "rule_r8",
    "rule_r9",
    "rule_r10",
    "rule_r11",
    "rule_r12",
    "totals",
]
