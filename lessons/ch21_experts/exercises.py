"""The exercises of ch21_experts.

Work on your copy, answers/ch21_experts.py; this file stays as it is.

本章的练习。

请在你自己的副本 answers/ch21_experts.py 里作答，本文件保持原样。
"""
