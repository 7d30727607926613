"""Every known mistake of ch14_launching once more, spelled differently."""
