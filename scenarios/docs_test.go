package scenarios

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hclBlock matches a block of HCL in a document.
var hclBlock = regexp.MustCompile("(?ms)^```hcl\n(.*?)^```")

// TestDocsAreScenarios compiles every example of a scenario file in the documents. Those that are
// a part of one are put into the smallest scenario that can have it.
func TestDocsAreScenarios(t *testing.T) {
	compiled := 0
	compile := func(path, text string) {
		compiled++
		// What an example names, such as web.json, is in testdata/docs.
		if _, err := Compile(Spec{Scenario: "example", File: filepath.Join("testdata", "docs", filepath.Base(path)), Source: text}); err != nil {
			t.Errorf("an example of %s is no scenario: %v\n%s", path, err, text)
		}
	}
	err := filepath.WalkDir("../docs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "adding.md" { // whose example needs the code beside it
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".hcl":
			compile(path, string(data))
		case ".md":
			for _, m := range hclBlock.FindAllStringSubmatch(string(data), -1) {
				compile(path, completed(m[1]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compiled < 4 {
		t.Errorf("%d examples were found in all documents: the pattern does not find them", compiled)
	}
}

// completed returns a text with what every scenario must have.
func completed(text string) string {
	if strings.HasPrefix(text, "title") {
		return text
	}
	if !strings.HasPrefix(text, "cluster") {
		text += `
cluster {
  schedulers = 1
}
`
	}
	return text + `
title = "an example"

fleet {
  group "all" {
    nodes = 3
  }
}

phase "only" {
  event "start_clients" {}

  until "registered" {}
}
`
}
