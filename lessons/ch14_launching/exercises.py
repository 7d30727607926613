"""The exercises of ch14_launching.

Work on your copy, answers/ch14_launching.py; this file stays as it is.

本章的练习。请在你自己的副本 answers/ch14_launching.py 里作答，本文件保持原样。
"""
