"""Commands of the command line, one function a file, of the same name; `ipub.app.cli` puts them together."""
