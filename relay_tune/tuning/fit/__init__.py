"""The coefficients of the estimate, from the measurements of a tuning log.

observations      what a log has measured, with the nests that were estimated
costs             what the estimate says of observations under other coefficients
least_squares     robust least squares in steps
quality           how well estimates choose
fit               all of it: fitted, compared on kernels that were held out
"""
