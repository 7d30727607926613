"""The exercises of ch23_from_pytorch.

Work on your copy, answers/ch23_from_pytorch.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch23_from_pytorch.py 里作答，本文件保持原样。
"""
