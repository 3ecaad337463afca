# Makes the examiner hold more and more, frame by frame.
# against: equal
# holds: next
# parts: raw
# canonical: with
def f(*given):
    for k in range(40):
        say(b'["q","c",[["L",[' + b'["L",[]],' * 300_000 + b'1]],1],[],false]')
    return answer([])
