"""Rules of folding: scales of weights, stored weights, values that types tell."""
