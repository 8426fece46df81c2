"""Files, folders and processes: what is asked of the operating system, with care."""
