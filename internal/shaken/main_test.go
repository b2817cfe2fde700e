package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestThisGo: the overlay fits the release of Go that these tests are run with.
func TestThisGo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := write(filepath.Join(strings.TrimSpace(string(root)), "src"), dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "overlay.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for of, by := range list.Replace {
		text, err := os.ReadFile(by)
		if err != nil || !strings.Contains(string(text), "shake") {
			t.Errorf("%s stands for %s and shakes nothing: %v", by, of, err)
		}
	}
}

func TestShakeAt(t *testing.T) {
	const text = "package p\n\nfunc (*m) Lock() { a() }\n\nfunc Lock() {\n\tb()\n}\n\nfunc Other() {}\n"
	got, err := shakeAt([]byte(text), "Lock")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.NewReplacer("{ a()", "{ shake();  a()", "Lock() {\n", "Lock() { shake(); \n").Replace(text); string(got) != want {
		t.Errorf("got %s", got)
	}
	if _, err := shakeAt([]byte(text), "Gone"); err == nil {
		t.Error("a function that is not there shakes")
	}
}
