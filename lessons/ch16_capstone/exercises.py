"""The exercises of ch16_capstone.

Work on your copy, answers/ch16_capstone.py; this file stays as it is.

本章的练习。请在你自己的副本 answers/ch16_capstone.py 里作答，本文件保持原样。
"""
