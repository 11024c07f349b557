"""An annotator's attempts at the qualification test and at practice: admission, pages, grading, results."""
