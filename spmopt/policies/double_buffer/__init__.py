"""Double buffering: the scratchpad is two halves, one computed in while the other is filled."""

from spmopt.policies.double_buffer.policy import double_buffer

__all__ = ["double_buffer"]
