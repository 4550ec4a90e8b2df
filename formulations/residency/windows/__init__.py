"""Windows of steps under global prices, one after the other, in place of one big program."""
