"""What passes know of operators: a table a concern, from operators to rules."""
