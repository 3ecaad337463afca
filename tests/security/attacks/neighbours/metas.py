# Fills what the examiner keeps of the classes of classes.
# against: equal
# holds: next
# parts: raw
# attempts: 8
# canonical: with
_BODY = ",".join('"%s"' % ("x" * 100 + str(k)) for k in range(60_000))


def f(*given):
    for k in range(12):
        kind = '["h",%d,["c","X",[],"",[],[],"",["n%s",%s]]]' % (901 + k, os.urandom(6).hex(), _BODY)
        say(('["q","c",[%s],[],false]' % kind).encode())
        hear()
    return answer([])
