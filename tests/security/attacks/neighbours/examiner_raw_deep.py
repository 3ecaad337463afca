# Answers with a text of tuples within tuples, so deep that reading it overflows.
# against: equal, keyed
# holds: next
# parts: raw
# canonical: with
def f(*given):
    say(b'["v",' + b'["T",[' * 400_000 + b']]' * 400_000 + b']')
    return answer([])
