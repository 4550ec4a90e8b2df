"""Why a machine need not be solved: cuts of solved machines, least figures, dominance."""
