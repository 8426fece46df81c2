"""What runs on the CPU when a kernel is launched: the code of the assembler that fills hidden parameters.

``object_file`` reads the object, ``x86`` executes it, ``hidden_parameters`` gives the bytes of a launch.
"""
