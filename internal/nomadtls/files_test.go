package nomadtls

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simctl/simctl/internal/testcerts"
)

func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.pem")
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := testcerts.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Write(dir); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.pem")
	if got, err := (Files{}).Client(""); got != nil || err != nil {
		t.Errorf("without files: %v, %v", got, err)
	}
	for _, c := range []struct{ ca, cert, key, want string }{
		{ca, "", "", "TLS needs three files"},
		{bad, ca, ca, bad + ": it has no certificate"},
		{ca, ca, bad, bad},
		{filepath.Join(dir, "none"), ca, ca, "none"},
	} {
		if _, err := (Files{c.ca, c.cert, c.key}).Client(""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
	if _, err := (Files{filepath.Join(dir, "none"), ca, ca}).Server(true); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
