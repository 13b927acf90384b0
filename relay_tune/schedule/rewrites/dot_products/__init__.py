"""Sums of products of narrow elements, as dot products of words."""
