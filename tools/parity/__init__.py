"""Do all builds of the engine agree? Its contract, byte for byte, on this Python and on others.

    python -m tools.parity                                     this Python, others on the path, Pyodide of node_modules
    python -m tools.parity --python PATH … --pyodide DIR …     these interpreters and npm packages `pyodide` as well

Reading order: `builds` (an interpreter, and what it makes of the contract), `__main__` (which ones, and the verdict).
"""
