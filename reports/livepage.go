package reports

import (
	"io"

	"github.com/simctl/simctl/reports/page"
)

// LivePage writes a page that shows a running cluster. Source is the path of the stream of its
// samples on the server that the page comes from; the page shows the latest keep.
func LivePage(w io.Writer, title, source string, keep int) error {
	return page.Live(w, title, source, keep)
}
