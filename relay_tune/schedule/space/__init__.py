"""The choices that nests leave open, and the search for those with the best estimate."""
