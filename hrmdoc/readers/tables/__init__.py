"""Tables of any format: headers, cells, and rows that become points."""
