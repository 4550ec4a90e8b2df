"""Small problems by enumeration: all states of residency that may lead to an optimum."""
