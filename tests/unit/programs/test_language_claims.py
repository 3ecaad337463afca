"""Claims that are one of the tests' own comparisons with another expectation: only where that is sure to be wrong."""

import pytest

from markbook.languages import language

CPP = "assert(1 == 2);"
RUST = "assert_eq!(1, 2);"


@pytest.mark.parametrize(
    ("name", "tests", "claim"),
    [
        ("cpp", "int main() {\n  assert(f((1)) == (2));\n  assert(f((2)) == (4));\n}\n", "assert(f((2)) == (3));"),
        ("cpp", "int main() {\n  assert (f({1, 2}) == vector<long>({(long)10, 5}));\n  return 0;\n}\n",
         "assert (f({1, 2}) == vector<long>({(long)11, 5}));"),
        ("cpp", 'int main() {\n  assert(f((std::string)"a == b") == ("c"));\n}\n', 'assert(f((std::string)"a == b") == ("xc"));'),
        ("cpp", "int main() {\n  assert(f(0.5f) == true);\n}\n", "assert(f(0.5f) == false);"),
        ("cpp", "int main() {\n  assert(f(1) == (std::array<int, 3>({7})));\n}\n", "assert(f(1) == (std::array<int, 3>({6})));"),
        ("c", "int main(void) {\n  assert(f(1) == 0.30);\n}\n", "assert(f(1) == 1.30);"),
        ("rust", "}\nfn main() {\n  assert_eq!(f(vec![1, 2]), vec![3, 4]);\n}\n", "assert_eq!(f(vec![1, 2]), vec![2, 4]);"),
        ("rust", 'fn main() {\n  assert_eq!(f(String::from("a, b")), String::from("c, d"));\n}\n',
         'assert_eq!(f(String::from("a, b")), String::from("xc, d"));'),
        ("rust", "mod tests {\n  #[test]\n  fn t() {\n    assert!(f(127) == 127);\n  }\n}\n", "assert!(f(127) == 126);"),
        ("bash", 'set -e\nrun() {\n  [[ $(f "1 2") = "3" ]]\n}\n\nrun\n', '[[ $(f "1 2") = "x3" ]]'),
        ("csharp", "Debug.Assert(F((2L)) == (4L));\n  }\n}\n", "Debug.Assert(F((2L)) == (3L));"),
    ],
)  # fmt: skip
def test_the_last_comparison_is_claimed_with_another_expectation(name, tests, claim):
    assert language(name).ending.claim_for(tests) == claim


@pytest.mark.parametrize(
    ("name", "tests", "claim"),
    [
        # a variable may have been changed, or moved
        ("cpp", "int main() {\n  vector<int> a = {1};\n  assert(f(a) == 2);\n}\n", CPP),
        ("rust", "fn main() {\n  let a = vec![1];\n  assert_eq!(f(a), 2);\n}\n", RUST),
        # another tolerance, another message, another condition
        ("cpp", "int main() {\n  assert(abs(f(1) - 0.3) < 1e-4);\n}\n", CPP),
        ("rust", 'fn main() {\n  assert_eq!(f(1), 2, "not {}", 3);\n}\n', RUST),
        ("cpp", "int main() {\n  assert(f(1) == 2 || f(1) == 3);\n}\n", CPP),
        ("cpp", "int main() {\n  assert(f(1) == (f(1) == 2 ? 3 : 4));\n}\n", CPP),
        # of no constant
        ("cpp", "int main() {\n  assert(f(1) == (vector<int>()));\n}\n", CPP),
        ("cpp", "int main() {\n  assert(f(1) == 12345678);\n}\n", CPP),
        # not where its names are known
        ("cpp", "int main() {\n  for (int i = 0; i < 3; i++) {\n    assert(f(1) == 2);\n  }\n}\n", CPP),
        ("cpp", "void g() {\n  assert(f(1) == 2);\n}\nint main() {\n  g();\n}\n", CPP),
        ("bash", 'set -e\nx=1\n[[ $(f "$x") = "3" ]]\n', "[[ 1 = 2 ]]"),
        ("cpp", "int main() {\n  if (f(1) != 2) abort();\n}\n", "__builtin_abort();"),
    ],
)
def test_where_that_is_not_sure_to_be_wrong_the_plain_claim_is_made(name, tests, claim):
    assert language(name).ending.claim_for(tests) == claim
