"""Every known mistake of ch16_capstone once more, spelled differently."""
