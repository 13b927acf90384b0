"""A recurrence whose steps are written out, so that less of it waits for a backward sweep.

segment_recurrences  the pass
recurrences          chains of products with one weight, and the steps between them
block_orders         weights whose blocks of rows are read in another order
long_sums            sums over the rows of all steps, one segment of the steps after the other
long_rows            what is computed for all steps at once, one segment after the other
repeated_segments    what the backward sweep reads of a segment, computed again for all of its steps
"""
