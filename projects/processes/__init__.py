"""Child processes for work that native code or a file from outside could end: started, limited, restarted."""
