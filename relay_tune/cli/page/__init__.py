"""A tuning log as one HTML page: what it says of each network, drawn, and the page itself."""
