"""The type relations of operators, by family; `support` is what they share."""
