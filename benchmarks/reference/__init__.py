"""The reference site: the least a Django app must do to serve and store HITs of ten items."""
