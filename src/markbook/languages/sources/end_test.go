package {package}

import (
    markbookAtomic{nonce} "sync/atomic"
    markbookFlag{nonce} "flag"
    markbookIo{nonce} "io"
    markbookOs{nonce} "os"
    "testing"
    {imports}
)

{uses}
{entry}

var markbookWanted{nonce}, markbookBegun{nonce} int32

func markbookWants{nonce}() bool { markbookAtomic{nonce}.AddInt32(&markbookWanted{nonce}, 1); return true }

func markbookBegins{nonce}() { markbookAtomic{nonce}.AddInt32(&markbookBegun{nonce}, 1) }

func markbookRun{nonce}(t *testing.T, name string, part func(*testing.T)) bool {
    markbookWants{nonce}()
    return t.Run(name, func(t *testing.T) { markbookBegins{nonce}(); part(t) })
}

func markbookFlags{nonce}() {
    markbookOs{nonce}.Args = markbookOs{nonce}.Args[:1]
    for _, name := range []string{"run", "skip", "list", "bench"} {
        markbookFlag{nonce}.Set("test." + name, "")
    }
}

func markbookEnd{nonce}(t *testing.T) {
    t.Helper()
    said, _ := markbookIo{nonce}.ReadAll(markbookOs{nonce}.Stdin)
    if string(said) == "{nonce}" {
        t.Errorf("expected '%s', got '%s'", "1", "2")
    }
    if markbookAtomic{nonce}.LoadInt32(&markbookBegun{nonce}) >= markbookAtomic{nonce}.LoadInt32(&markbookWanted{nonce}) {
        markbookOs{nonce}.Stdout.WriteString("\n{token}\n")
    }
}
