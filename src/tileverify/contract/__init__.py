"""What a launch is, once: the spec language, launches as terms and as numbers, the facts that every launch keeps."""
