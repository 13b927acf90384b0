"""The matrix registers of x86-64 (Intel AMX).

record                     what they compute, which processors have them, what they cost
emission                   their instructions as LLVM IR; description: what LDTILECFG reads
peak                       the loop that measures them
"""
