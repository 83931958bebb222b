"""Models and pipelines that scikit-learn has trained, translated into the terms of this package."""
