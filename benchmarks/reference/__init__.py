"""The reference site: the minimum that a Django app must do to serve and store HITs of ten items."""
