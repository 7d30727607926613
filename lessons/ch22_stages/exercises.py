"""The exercises of ch22_stages.

Work on your copy, answers/ch22_stages.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch22_stages.py 里作答，本文件保持原样。
"""
