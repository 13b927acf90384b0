"""Products of float32 on matrix registers, as sums of products of bfloat16."""
