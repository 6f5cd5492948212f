"""The measuring library of the book *Weight Tying, Measured*.

One concept, one module; import the one you need (``from wtlib import counting``). Importing the
package alone loads nothing heavy.
"""

__version__ = "0.1.0"
