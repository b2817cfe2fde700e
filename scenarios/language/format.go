package language

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Format returns the text in the canonical layout of HCL: indented by two, the equals signs of
// neighbours in one column. Comments and order stay. The error is an *Error for a text that is
// not HCL.
func Format(name string, src []byte) ([]byte, error) {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, &Error{Diags: diags, file: file}
	}
	return hclwrite.Format(src), nil
}
