"""The exercises of ch20_serving.

Work on your copy, answers/ch20_serving.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch20_serving.py 里作答，本文件保持原样。
"""
