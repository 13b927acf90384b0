"""How derivatives pass operators: the adjoints of a call's arguments, given that of its result."""
