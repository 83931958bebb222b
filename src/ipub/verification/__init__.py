"""Checks of a model's bounds by other means: retraining on fillings, with code that shares nothing with certificates.

Nothing here imports a certificate, a set of models or the rounding that bounds are proved with; a test holds that.
"""
