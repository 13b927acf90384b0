"""What a primitive computes: tensor expressions, loop nests."""
