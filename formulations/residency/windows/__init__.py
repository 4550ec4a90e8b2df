"""Windows of steps under global dual values, one after the other, in place of one big program."""
