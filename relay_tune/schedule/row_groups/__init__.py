"""Groups of nests that run together, block by block of rows."""
