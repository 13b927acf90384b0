"""Products with weights of few bits whose data are rounded to bytes when the program runs."""
