"""The report as one offline HTML page."""
