"""The paper's theory: its bounds as formulas, Theorem 2 term by term, and what a step costs (Table 1)."""
