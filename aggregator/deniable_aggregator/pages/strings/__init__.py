"""Parts of a page about a metric of strings: values to look for, and strings that were found."""
