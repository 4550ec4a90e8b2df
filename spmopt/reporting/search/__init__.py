"""How a search of machines is shown: words, tables, and a view of its front."""
