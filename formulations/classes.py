"""Classes of schedules that a solver's own bound may hold for, as notes name them."""

from __future__ import annotations

WHOLE = "whole-tensor schedules, fixed order"
"""In a step that uses a tensor all of it is resident, or nothing; between two uses it is kept in
full or given up in full. Both models of whole tensors are of this class (README, "Whole tensors").
"""
