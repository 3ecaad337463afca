package main

import (
    "net/http"
    "os/user"
    "testing"
)

func TestAll(t *testing.T) { _, _ = user.Current(); _ = http.StatusOK }
