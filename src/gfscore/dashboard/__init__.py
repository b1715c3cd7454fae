"""The interactive view: calls the audit, shows what comes out, and contains no mathematics."""
