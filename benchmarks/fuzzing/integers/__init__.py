"""Random products of quantized integers, with the results that int64 arithmetic has."""
