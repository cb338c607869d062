"""Several machines: the loop and the engine of one machine, driven over Ray (extra `ray`).

Every worker holds a share of the encoded documents, their vectors, and a copy of all word and context vectors. Between
two exchanges the workers train without one another; then what each row has moved is added up, in the order of the
workers, and put back on the sphere.
"""
