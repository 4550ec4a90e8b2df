"""Savings of each decision about a network, as text, sentences, JSON and the data of a page."""

from spmopt.reporting.ablation.decisions import Decision, Key
from spmopt.reporting.ablation.record import ablation_parts, ablation_record, decision_table
from spmopt.reporting.ablation.sentences import sentences

__all__ = ["Decision", "Key", "ablation_parts", "ablation_record", "decision_table", "sentences"]
