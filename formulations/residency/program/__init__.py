"""The compact linear program over priced columns."""
