"""Products with weights of few bits that are converted once for all rows, panel by panel."""
