"""Own programs for problems of CodeContests: a right one in Python and in C++ each, by the id in SandboxFusion's dump."""

from __future__ import annotations

PYTHON_TAILS = {
    "right": "",
    "wrong": "\nprint(7)\n",
    "slow": "\nimport sys\nsys.stdout.flush()\nwhile True:\n    pass\n",
    "crashing": "\nraise ValueError(7)\n",
}
CPP_TAILS = {
    "right": "",
    "wrong": 'printf(" 7\\n");',
    "slow": "for (volatile int n = 0;;) n = n + 1;",
    "crashing": "abort();",
}

_DIGITS = (
    """
from collections import deque
line = input().strip()
places = {}
for place, digit in enumerate(line):
    places.setdefault(digit, []).append(place)
far = {0: 0}
queue = deque([0])
while queue:
    at = queue.popleft()
    if at == len(line) - 1:
        break
    for to in [at - 1, at + 1, *places.pop(line[at], [])]:
        if 0 <= to < len(line) and to not in far:
            far[to] = far[at] + 1
            queue.append(to)
print(far[len(line) - 1])
""",
    """
void solve() {
  string line; cin >> line; int n = line.size();
  vector<vector<int>> places(10); vector<int> far(n, -1);
  for (int i = 0; i < n; i++) places[line[i] - '0'].push_back(i);
  deque<int> queue{0}; far[0] = 0;
  while (!queue.empty()) {
    int at = queue.front(); queue.pop_front();
    auto next = places[line[at] - '0']; places[line[at] - '0'].clear();
    next.push_back(at - 1); next.push_back(at + 1);
    for (int to : next) if (to >= 0 && to < n && far[to] < 0) { far[to] = far[at] + 1; queue.push_back(to); }
  }
  printf("%d\\n", far[n - 1]);
}
""",
)
_SHIRTS = (
    """
from collections import Counter
n = int(input())
old = Counter(input().strip() for _ in range(n))
new = Counter(input().strip() for _ in range(n))
print(n - sum((old & new).values()))
""",
    """
void solve() {
  int n; cin >> n; map<string, int> had; string word; int same = 0;
  for (int i = 0; i < n; i++) { cin >> word; had[word]++; }
  for (int i = 0; i < n; i++) { cin >> word; if (had[word]-- > 0) same++; }
  printf("%d\\n", n - same);
}
""",
)
_TREES = (
    """
import sys
data = list(map(int, sys.stdin.buffer.read().split()))
n, k = data[:2]
top = list(range(n + 1))
def find(x):
    while top[x] != x:
        top[x] = top[top[x]]
        x = top[x]
    return x
for i in range(2, 2 + 3 * (n - 1), 3):
    if data[i + 2] == 0:
        top[find(data[i])] = find(data[i + 1])
size = [0] * (n + 1)
for x in range(1, n + 1):
    size[find(x)] += 1
MOD = 10**9 + 7
print((pow(n, k, MOD) - sum(pow(one, k, MOD) for one in size if one)) % MOD)
""",
    """
const long long MOD = 1000000007;
vector<int> top_of;
int find_top(int x) { while (top_of[x] != x) x = top_of[x] = top_of[top_of[x]]; return x; }
long long power(long long b, int e) { long long r = 1; b %= MOD; while (e--) r = r * b % MOD; return r; }
void solve() {
  int n, k; scanf("%d%d", &n, &k); top_of.resize(n + 1); iota(top_of.begin(), top_of.end(), 0);
  for (int i = 1; i < n; i++) { int a, b, c; scanf("%d%d%d", &a, &b, &c); if (!c) top_of[find_top(a)] = find_top(b); }
  vector<int> size(n + 1); for (int x = 1; x <= n; x++) size[find_top(x)]++;
  long long all = power(n, k); for (int one : size) if (one) all = (all + MOD - power(one, k)) % MOD;
  printf("%lld\\n", all);
}
""",
)
_SOUND = (
    """
import sys
from collections import Counter
n, size, *sound = map(int, sys.stdin.buffer.read().split())
sound = sound[:n]
counts = [count for _, count in sorted(Counter(sound).items())]
most = 1 << min(20, 8 * size // n)
if len(counts) <= most:
    print(0)
else:
    held = best = sum(counts[:most])
    for i in range(most, len(counts)):
        held += counts[i] - counts[i - most]
        best = max(best, held)
    print(n - best)
""",
    """
void solve() {
  int n, size; scanf("%d%d", &n, &size); map<int, int> count;
  for (int i = 0; i < n; i++) { int a; scanf("%d", &a); count[a]++; }
  long long most = 1LL << min(20LL, 8LL * size / n); vector<int> c; for (auto &one : count) c.push_back(one.second);
  long long held = 0, best = 0;
  for (size_t i = 0; i < c.size(); i++) { held += c[i]; if ((long long)i >= most) held -= c[i - most]; best = max(best, held); }
  printf("%lld\\n", n - best);
}
""",
)
_MONSTERS = (
    """
for _ in range(int(input())):
    n, r = map(int, input().split())
    shots = 0
    for x in sorted(set(map(int, input().split())), reverse=True):
        if x - shots * r <= 0:
            break
        shots += 1
    print(shots)
""",
    """
void solve() {
  int q; scanf("%d", &q);
  while (q--) {
    int n, r; scanf("%d%d", &n, &r); set<int, greater<int>> places; while (n--) { int x; scanf("%d", &x); places.insert(x); }
    long long shots = 0; for (int x : places) { if (x - shots * r <= 0) break; shots++; }
    printf("%lld\\n", shots);
  }
}
""",
)
_BATH = (
    """
t1, t2, x1, x2, t0 = map(int, input().split())
if t0 == t1 == t2:
    print(x1, x2)
elif t0 == t1:
    print(x1, 0)
elif t0 == t2:
    print(0, x2)
else:
    best, above, total = (0, x2), t2 - t0, 1
    for y1 in range(x1, 0, -1):
        y2 = -(-y1 * (t0 - t1) // (t2 - t0))
        if y2 > x2:
            continue
        over = y1 * (t1 - t0) + y2 * (t2 - t0)
        if over * total < above * (y1 + y2):
            best, above, total = (y1, y2), over, y1 + y2
    print(*best)
""",
    """
void solve() {
  long long t1, t2, x1, x2, t0; cin >> t1 >> t2 >> x1 >> x2 >> t0;
  long long b1 = 0, b2 = x2;
  if (t0 == t1 && t0 == t2) b1 = x1;
  else if (t0 == t1) { b1 = x1; b2 = 0; }
  else if (t0 != t2) {
    long long above = t2 - t0, total = 1;
    for (long long y1 = x1; y1 > 0; y1--) {
      long long y2 = (y1 * (t0 - t1) + t2 - t0 - 1) / (t2 - t0);
      if (y2 > x2) continue;
      long long over = y1 * (t1 - t0) + y2 * (t2 - t0);
      if ((__int128)over * total < (__int128)above * (y1 + y2)) { b1 = y1; b2 = y2; above = over; total = y1 + y2; }
    }
  }
  printf("%lld %lld\\n", b1, b2);
}
""",
)
_SHUFFLED = (
    """
n, m = input().strip(), input().strip()
digits = sorted(n)
first = next((i for i, digit in enumerate(digits) if digit != "0"), 0)
digits[0], digits[first] = digits[first], digits[0]
print("OK" if "".join(digits) == m else "WRONG_ANSWER")
""",
    """
void solve() {
  string n, m; cin >> n >> m; sort(n.begin(), n.end());
  for (size_t i = 0; i < n.size(); i++) if (n[i] != '0') { swap(n[0], n[i]); break; }
  puts(n == m ? "OK" : "WRONG_ANSWER");
}
""",
)
_COUNTING = (
    """
from math import lcm
for _ in range(int(input())):
    a, b, q = map(int, input().split())
    period, same = lcm(a, b), max(a, b)
    def upto(x):
        whole, rest = divmod(x + 1, period)
        return x + 1 - whole * same - min(rest, same)
    found = []
    for _ in range(q):
        low, high = map(int, input().split())
        found.append(upto(high) - upto(low - 1))
    print(*found)
""",
    """
void solve() {
  int t; scanf("%d", &t);
  while (t--) {
    long long a, b; int q; scanf("%lld%lld%d", &a, &b, &q); long long period = a / __gcd(a, b) * b, same = max(a, b);
    auto upto = [&](long long x) { x++; return x - x / period * same - min(x % period, same); };
    while (q--) { long long l, r; scanf("%lld%lld", &l, &r); printf("%lld ", upto(r) - upto(l - 1)); }
    puts("");
  }
}
""",
)
ANSWERS = {
    "2": _DIGITS, "3": _SHIRTS, "9": _TREES, "12": _SOUND, "14": _MONSTERS, "16": _BATH, "17": _SHUFFLED, "19": _COUNTING,
}  # fmt: skip
"""By the problem: the right program in Python, and `solve` of the right one in C++."""
