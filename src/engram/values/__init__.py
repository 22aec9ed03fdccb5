"""The values that flow between rooms, a module per subject: frozen, without I/O. Import the module that is needed."""
