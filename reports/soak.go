package reports

import (
	"io"
	"path/filepath"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/page"
)

// Names of the files of a soak.
const (
	soakFileName = "soak.json"
	soakPageName = "report.html"
)

// WriteSoak writes what random schedules came to into dir, which must exist, as data and as a page.
// It returns the names of the files.
func WriteSoak(dir string, s *metrics.Soak) ([]string, error) {
	if err := s.WriteFile(filepath.Join(dir, soakFileName)); err != nil {
		return nil, err
	}
	err := writeFile(dir, soakPageName, func(w io.Writer) error { return page.Soak(w, s) })
	return []string{soakFileName, soakPageName}, err
}
