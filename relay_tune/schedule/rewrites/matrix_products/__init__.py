"""Products on matrix registers, of bytes and as sums of products of bfloat16."""
