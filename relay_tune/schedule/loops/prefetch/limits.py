"""How much may be fetched ahead beside arithmetic."""

MOST_LINES = 8
"""For each written-out group of reduction steps; more would take the place of arithmetic."""

MOST_PANEL_LINES = 16
"""The same of panels, whose readers would wait for memory: a tile reads them from end to end."""
