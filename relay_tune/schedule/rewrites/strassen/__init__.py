"""Products of matrices with seven multiplications of halves instead of eight."""
