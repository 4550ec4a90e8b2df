"""Prices of counted work, in seconds of an idle machine; no load changes a search that ends by it.

The searches of fusion plans and of their bound run beside each other, and hear of each other by
these counts alone (:mod:`formulations.fusion.bounding`). Each is right within a factor of two.
"""

CALL_S = 7e-4
"""Of a program to solve, an operation to list, a group to name: the calls from Python."""
PROGRAM_S, ENTRY_S = 2.5e-3, 1e-6
"""Of a program to build, and of each of its entries."""
FOLLOW_S = 2e-4
"""Of a step of stripes whose bytes are followed, before its program is built."""
MAPPINGS_S = 3e-4
"""Of the mappings of an operation, for each number of stripes."""
VALUE_S, TABLE_S, ARC_S = 8e-8, 2e-8, 4e-9
"""Of a place of a table: to make, to change, and to look at."""
BEGIN_S, STRIPED_S, STRIPED_FIRST_S = 4e-4, 7e-3, 2e-3
"""Of an operation before the first fusion plan is tried, of one in stripes, in first mappings."""
OPERATION_S, MAPPING_S, STRIPED = 1e-2, 8e-4, 3.0
"""Of an operation, and of each of its mappings, until fusion plans are good in any mappings; how
many times as long that takes where there are stripes."""
STEP_S, PLAN_S, FIRST_STEP_S = 5e-4, 1e-4, 1e-2
"""Of a step of a fusion plan: to schedule to a coarse gap, and beside that; of any plan."""
PAGE_SHARE = 0.8
"""Of the counted work of a schedule: 0.66 to 1.1 in four networks."""
CHECK_GROUP_S, CHECK_TENSOR_S = 1.5e-3, 6e-7
"""Of a group to check in a proof, and of a tensor in a step of it."""
