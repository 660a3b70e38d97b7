"""Studio (extra: studio): a page in the browser to label rows by keyboard, while the labels spread."""
