"""What Kubernetes refuses in built-in objects, in its own words.

Functions yield objections in the order in which Kubernetes lists them; `table` says which function
judges which kind. They judge objects that are complete: decoded, defaulted and of the right types.
"""
