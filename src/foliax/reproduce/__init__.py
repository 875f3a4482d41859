"""The paper's tables and figures, from one command: `foliax reproduce`."""
