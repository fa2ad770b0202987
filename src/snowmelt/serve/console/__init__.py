"""The console: a page in the browser, and the API under it.

The page is built from `console/` into `static/`. Everything it shows comes from statements that run with the rights of
its session, so that what a role may not know of is not in any answer. docs/design/console.md has the reasons.
"""
