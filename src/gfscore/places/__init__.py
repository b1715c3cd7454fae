"""Places that are not on this disk: objects and folders of an object store, by their address."""
