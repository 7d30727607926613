"""The exercises of ch24_your_program.

Work on your copy, answers/ch24_your_program.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch24_your_program.py 里作答，本文件保持原样。
"""
