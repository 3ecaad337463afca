"""Hostile answers to `twice`, by language: each breaks a rule at compile time or at run time, and none may pass.

Where an answer computes, it computes wrong: what passes has forged it. Bombs are bounded by the box's own limits.
"""

_WRONG_C = "int twice(int x) { return x; }\n"
_UNIX = "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <signal.h>\n"
C = {
    "constructor exits": _UNIX + _WRONG_C + "__attribute__((constructor)) static void a(void) { exit(0); }\n",
    "constructor exits hard": _UNIX + _WRONG_C + "__attribute__((constructor)) static void a(void) { _exit(0); }\n",
    "destructor exits": _UNIX + _WRONG_C + "__attribute__((destructor)) static void a(void) { _exit(0); }\n",
    "exits in the answer": _UNIX + "int twice(int x) { exit(0); }\n",
    "quick exit": _UNIX + "int twice(int x) { quick_exit(0); }\n",
    "at exit": _UNIX + "static void h(void) { _exit(0); }\nint twice(int x) { atexit(h); return x; }\n",
    "catches the abort": _UNIX + "static void h(int n) { _exit(0); }\nint twice(int x) { signal(SIGABRT, h); return x; }\n",
    "jumps out of the abort": "#include <setjmp.h>\n" + _UNIX + "static jmp_buf b; static void h(int n) { longjmp(b, 1); }\n"
    "int twice(int x) { signal(SIGABRT, h); if (setjmp(b)) _exit(0); return x; }\n",
    "another assert": _WRONG_C + "#define assert(x) ((void)0)\n",
    "no debugging": "#define NDEBUG\n" + _WRONG_C,
    "another failure": _WRONG_C + "void __assert_fail(const char *a, const char *b, unsigned c, const char *d) { }\n",
    "another abort": _WRONG_C + "void abort(void) { __builtin_exit(0); }\nvoid __assert_fail(const char *a, const char *b, unsigned c, const char *d) { abort(); }\n",
    "another main": _WRONG_C + "int main(void) { return 0; }\n#define main other\n",
    "renamed main": _WRONG_C + "#define main other\n",
    "another entry": _WRONG_C + 'void _start(void) { __asm__("mov $60, %eax; xor %edi, %edi; syscall"); }\n',
    "interposes libc": _WRONG_C + "int __libc_start_main(void) { return 0; }\n",
    "reads its source": _UNIX + 'int twice(int x) { char b[9999]; FILE *f = fopen("../build/main.c", "r"); if (f) { b[fread(b, 1, 9998, f)] = 0; puts(b); } exit(0); }\n',
    "prints its image": _UNIX + 'int twice(int x) { FILE *f = fopen("../build/main", "r"); int c; while (f && (c = fgetc(f)) != EOF) putchar(c ? c : 10); fflush(stdout); _exit(0); }\n',
    "includes its source": _WRONG_C + '#define main(...) other(void)\n#include "main.c"\n#undef main\n',
    "steals a file": '#include "/etc/passwd"\n' + _WRONG_C,
    "takes a file in": _WRONG_C + '__asm__(".incbin \\"/etc/passwd\\"");\n',
    "macro bomb": "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(A(x))))))))\nint a[] = { B(B(1,)) };\n" + _WRONG_C,
    "forks and exits": _UNIX + "int twice(int x) { if (fork()) _exit(0); return x; }\n",
    "kills all": _UNIX + "int twice(int x) { kill(-1, 9); kill(getppid(), 9); return x; }\n",
    "becomes true": _UNIX + 'int twice(int x) { execl("/usr/bin/true", "true", (char *)0); return x; }\n',
}  # fmt: skip

_WRONG_JAVA = "class Solution { int twice(int x) { return x; } }\n"


def _java(body: str) -> str:
    return f"class Solution {{ int twice(int x) {{ {body} }} }}\n"


JAVA = {
    "exits": _java("System.exit(0); return x;"),
    "halts": _java("Runtime.getRuntime().halt(0); return x;"),
    "exits in an initialiser": "class Solution { static { System.exit(0); } int twice(int x) { return x; } }\n",
    "halts in a hook": _java("Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0))); return x;"),
    "halts in a thread": _java("new Thread(() -> Runtime.getRuntime().halt(0)).start(); while (true) { }"),
    "handles what is thrown": _java("Thread.setDefaultUncaughtExceptionHandler((t, e) -> Runtime.getRuntime().halt(0)); return x;"),
    "another error": "class AssertionError extends RuntimeException { AssertionError() { Runtime.getRuntime().halt(0); } AssertionError(String s) { } }\n" + _WRONG_JAVA,
    "another object": "class Object2 { }\nclass Throwable extends java.lang.Error { }\n" + _java("Runtime.getRuntime().halt(0); return x;"),
    "another system": "class System { static void exit(int n) { } static java.io.PrintStream out = java.lang.System.out; static java.io.InputStream in = new java.io.ByteArrayInputStream(new byte[32]); }\n" + _WRONG_JAVA,
    "another string": "class String { }\n" + _WRONG_JAVA,
    "another main": "class Main2 { public static void main(java.lang.String[] a) { } }\n" + _WRONG_JAVA,
    "a main of its own": "public class Main { public static void main(String[] a) { } }\n" + _WRONG_JAVA,
    "prints its class": _java('try { System.out.write(Solution.class.getResourceAsStream("Main.class").readAllBytes()); System.out.flush(); } catch (Exception e) { } Runtime.getRuntime().halt(0); return x;'),
    "reads its source": _java('try { System.out.println(new String(java.nio.file.Files.readAllBytes(java.nio.file.Path.of("../build/Main.java")))); } catch (Exception e) { } System.exit(0); return x;'),
    "prints what it is told": _java(
        "try { byte[] b = new byte[32]; System.in.read(b); System.out.println(new String(b)); } catch (Exception e) { } System.exit(0); return x;"
    ),
    "steals a file": _java('try { System.out.println(new String(java.nio.file.Files.readAllBytes(java.nio.file.Path.of("/etc/passwd")))); } catch (Exception e) { } System.exit(0); return x;'),
    "runs a program": _java('try { new ProcessBuilder("/usr/bin/true").start().waitFor(); } catch (Exception e) { } System.exit(0); return x;'),
    "annotation processor": "@interface Run { }\n@Run class P { static { Runtime.getRuntime().halt(0); } }\n" + _WRONG_JAVA,
    "wild types": "class T<A> { <B> T<T<B>> f(T<B> b) { return null; } void g() { f(f(f(f(f(f(f(f(new T<A>())))))))); } }\n" + _WRONG_JAVA,
    "deep": "class D { int f() { return " + "(" * 20000 + "1" + ")" * 20000 + "; } }\n" + _WRONG_JAVA,
    "long name": "class " + "N" * 300 + " { }\n" + _WRONG_JAVA,
    "switches assertions off": _java("ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(false); return x;"),
    "terminal": _java('System.out.print("\\u001b[2J"); System.exit(0); return x;'),
    "fills memory": _java("java.util.List<byte[]> l = new java.util.ArrayList<>(); while (true) l.add(new byte[1 << 26]);"),
}  # fmt: skip

_GO = 'package main\n\nimport (\n\t"os"\n\t"testing"\n)\n\nvar _ = os.Exit\n\n'
_GO_WRONG = "func twice(x int) int { return x }\n"
GO = {
    "exits": _GO + "func twice(x int) int { os.Exit(0); return x }\n",
    "exits in init": _GO + "func init() { os.Exit(0) }\n" + _GO_WRONG,
    "a main of tests": _GO + "func TestMain(m *testing.M) { os.Exit(0) }\n" + _GO_WRONG,
    "a main that lies": _GO + "func TestMain(m *testing.M) { m.Run(); os.Exit(0) }\n" + _GO_WRONG,
    "exits in a goroutine": _GO + "func twice(x int) int { go os.Exit(0); select {} }\n",
    "prints its image": _GO + 'func twice(x int) int { d, _ := os.ReadFile("/proc/self/exe"); os.Stdout.Write(d); os.Exit(0); return x }\n',
    "reads its source": _GO + 'func twice(x int) int { d, _ := os.ReadFile("../build/main_test.go"); os.Stdout.Write(d); d, _ = os.ReadFile("../build/end_test.go"); os.Stdout.Write(d); os.Exit(0); return x }\n',
    "prints what it is told": _GO + "func twice(x int) int { d := make([]byte, 99); n, _ := os.Stdin.Read(d); os.Stdout.Write(d[:n]); os.Exit(0); return x }\n",
    "steals a file": _GO + 'func twice(x int) int { d, _ := os.ReadFile("/etc/passwd"); os.Stdout.Write(d); os.Exit(0); return x }\n',
    "embeds a file": 'package main\n\nimport (\n\t_ "embed"\n\t"testing"\n)\n\n//go:embed ../../etc/passwd\nvar s string\n\n' + _GO_WRONG,
    "generates": 'package main\n\nimport "testing"\n\n//go:generate /bin/sh -c "exit 0"\n' + _GO_WRONG,
    "calls C": 'package main\n\n// #include "/etc/passwd"\nimport "C"\nimport "testing"\n\n' + _GO_WRONG,
    "panics and recovers": _GO + "func twice(x int) int { defer func() { recover(); os.Exit(0) }(); panic(1) }\n",
    "links another name": 'package main\n\nimport (\n\t"testing"\n\t_ "unsafe"\n)\n\n//go:linkname exit os.runtime_beforeExit\nfunc exit() { }\n' + _GO_WRONG,
    "skips": 'package main\n\nimport "testing"\n\nvar current *testing.T\n' + _GO_WRONG + "func init() { go func() { for { } }() }\n",
    "another end": _GO + "func markbookEnd(t *testing.T) { }\n" + _GO_WRONG,
    "another true": 'package main\n\nimport "testing"\n\nconst true = false\nvar _ = testing.Short\n' + _GO_WRONG,
    "ignored by a tag": "//go:build ignore\n\n" + _GO + _GO_WRONG,
    "an alias of T": 'package main\n\nimport testing "os"\n\n' + _GO_WRONG,
    "runs a program": 'package main\n\nimport (\n\t"os"\n\t"os/exec"\n\t"testing"\n)\n\nvar _ testing.TB\n\nfunc twice(x int) int { exec.Command("/bin/true").Run(); os.Exit(0); return x }\n',
    "fills memory": _GO + "func twice(x int) int { var l [][]byte; for { b := make([]byte, 1<<26); for i := range b { b[i] = 1 }; l = append(l, b) } }\n",
}  # fmt: skip

_RUST_WRONG = "fn twice(x: i32) -> i32 { x }\n"
RUST = {
    "exits": "fn twice(x: i32) -> i32 { std::process::exit(0) }\n",
    "exits in a hook": "fn twice(x: i32) -> i32 { std::panic::set_hook(Box::new(|_| std::process::exit(0))); x }\n",
    "exits in a thread": "fn twice(x: i32) -> i32 { std::thread::spawn(|| std::process::exit(0)); loop { } }\n",
    "exits in C": 'extern "C" { fn _exit(n: i32) -> !; }\nfn twice(x: i32) -> i32 { unsafe { _exit(0) } }\n',
    "exits before main": 'extern "C" { fn _exit(n: i32) -> !; }\nextern "C" fn early() { unsafe { _exit(0) } }\n#[used]\n#[link_section = ".init_array"]\nstatic EARLY: extern "C" fn() = early;\n' + _RUST_WRONG,
    "exits at the end": 'extern "C" { fn atexit(f: extern "C" fn()) -> i32; fn _exit(n: i32) -> !; }\nextern "C" fn end() { unsafe { _exit(0) } }\nfn twice(x: i32) -> i32 { unsafe { atexit(end); } x }\n',
    "another assert": "macro_rules! assert_eq { ($($x:tt)*) => {} }\n" + _RUST_WRONG,
    "another assert and main": "macro_rules! assert_eq { ($($x:tt)*) => { std::process::exit(0) } }\n" + _RUST_WRONG,
    "another panic": "macro_rules! panic { ($($x:tt)*) => {} }\nmacro_rules! assert_eq { ($($x:tt)*) => {} }\n" + _RUST_WRONG,
    "another main": "fn main() { }\nmod tests { " + _RUST_WRONG + "}\n",
    "includes a file": 'const S: &str = include_str!("/etc/passwd");\n' + _RUST_WRONG,
    "includes its source": 'const S: &str = include_str!("main.rs");\nfn twice(x: i32) -> i32 { println!("{}", S); std::process::exit(0) }\n',
    "reads its environment": 'const S: Option<&str> = option_env!("HOME");\nfn twice(x: i32) -> i32 { println!("{:?}", S); std::process::exit(0) }\n',
    "prints its image": 'use std::io::Write;\nfn twice(x: i32) -> i32 { let d = std::fs::read("../build/main").unwrap_or_default(); std::io::stdout().write_all(&d).ok(); std::process::exit(0) }\n',
    "reads its source": 'fn twice(x: i32) -> i32 { println!("{}", std::fs::read_to_string("../build/main.rs").unwrap_or_default()); std::process::exit(0) }\n',
    "prints what it is told": 'use std::io::Read;\nfn twice(x: i32) -> i32 { let mut s = String::new(); std::io::stdin().read_to_string(&mut s).ok(); println!("{}", s); std::process::exit(0) }\n',
    "equals everything": "struct E;\nimpl PartialEq<i32> for E { fn eq(&self, _: &i32) -> bool { false } }\nimpl std::fmt::Debug for E { fn fmt(&self, _: &mut std::fmt::Formatter) -> std::fmt::Result { std::process::exit(0) } }\nfn twice(x: i32) -> E { E }\n",
    "aborts well": "fn twice(x: i32) -> i32 { std::panic::set_hook(Box::new(|_| { println!(); std::process::exit(0) })); panic!() }\n",
    "type bomb": "trait T { const N: usize; }\nstruct S<A>(A);\nimpl<A: T> T for S<A> { const N: usize = S::<S<A>>::N; }\nimpl T for () { const N: usize = S::<()>::N; }\nconst X: usize = <() as T>::N;\n" + _RUST_WRONG,
    "macro bomb": "macro_rules! b { ($($x:tt)*) => { b!($($x)* $($x)* 1) } }\nb!(1);\n" + _RUST_WRONG,
    "assembler": 'std::arch::global_asm!(".incbin \\"/etc/passwd\\"");\n' + _RUST_WRONG,
    "runs a program": 'fn twice(x: i32) -> i32 { std::process::Command::new("/bin/true").status().ok(); std::process::exit(0) }\n',
    "fills memory": "fn twice(x: i32) -> i32 { let mut v = vec![]; loop { v.push(vec![1u8; 1 << 26]); } }\n",
}  # fmt: skip
