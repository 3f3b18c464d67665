"""The docs site: the pages of docs/ with what the code itself says put into them, built by Sphinx without internet."""
