"""Other answers to the exercises of ch18_profile: right ones, known mistakes, and other wrong ones."""

from solutions import ch18_profile as right_answers


def best_change__smallest_factor(times, changes):
    best = min(changes, key=lambda n: min(changes[n].values()))
    return max(times, key=times.get), best


def exposed__from_first_to_last(products, collectives):
    a, b = min(a for a, _ in collectives), max(b for _, b in collectives)
    return b - a - sum(max(0.0, min(b, e) - max(a, s)) for s, e in products)


# A small change of the right answer that once passed.
def exposed__a_span_inside_ends_the_outer(products, collectives):
    joined = []
    for start, end in sorted(collectives):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return right_answers.exposed(products, joined)
