//go:build unix

package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// visit plants what the rules say about one node. It returns false if what is below the node
// must stay as it is.
func (p *planter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.FuncDecl:
		p.function = functionName(n)
		if n.Body != nil && n.Name.Name != "init" && n.Name.Name != "main" {
			p.returnEarly(n.Type, n.Body)
		}
	case *ast.FuncLit:
		p.returnEarly(n.Type, n.Body)
	case *ast.ArrayType:
		return false
	case *ast.KeyValueExpr:
		p.walk(n.Value) // the key may have to be constant
		return false
	case *ast.BlockStmt:
		p.dropStatements(n.List)
	case *ast.CaseClause:
		p.dropStatements(n.Body)
		p.skipCase(n)
	case *ast.CommClause:
		p.dropStatements(n.Body)
	case *ast.IfStmt:
		p.condition(n.Cond)
		if b, ok := n.Cond.(*ast.BinaryExpr); ok && b.Op == token.NEQ {
			p.unequal[p.text(b.X)+" "+p.text(b.Y)] = true
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, cond := range clause.(*ast.CaseClause).List {
					p.condition(cond)
				}
			}
		}
	case *ast.RangeStmt:
		p.skipElement(n.X)
	case *ast.ReturnStmt:
		p.ignoreErrors(n)
	case *ast.CallExpr:
		return p.call(n)
	case *ast.BinaryExpr:
		if !p.constant(n) {
			p.binary(n)
		}
	case ast.Expr:
		p.constant(n)
	}
	return true
}

// constant plants an integer that is one off, or a truth value turned round, for the largest
// expression that is constant. It returns false if the expression is not constant.
func (p *planter) constant(e ast.Expr) bool {
	tv, ok := p.info.Types[e]
	if !ok || tv.Value == nil || !tv.IsValue() || p.spared(e) {
		return false
	}
	basic, _ := tv.Type.Underlying().(*types.Basic)
	switch {
	case basic == nil:
	case tv.Value.Kind() == constant.Bool:
		p.replace(e, "flip a truth value", fmt.Sprint(!constant.BoolVal(tv.Value)), "(%s != mutantOn(%d))")
	case basic.Info()&types.IsInteger != 0 && basic.Info()&types.IsUntyped == 0:
		if name := p.typeName(tv.Type); name != "" {
			if constant.Compare(tv.Value, token.EQL, constant.MakeInt64(1)) {
				p.replace(e, "off by one", p.text(e)+" - 1", "mutantMinus["+name+"](%[2]d, 1, %[1]s)")
			} else {
				p.replace(e, "off by one", p.text(e)+" + 1", "mutantPlus["+name+"](%[2]d, 1, %[1]s)")
			}
		}
	}
	p.within = e
	return true
}

// spared reports whether e is part of a constant expression in which a mutant was planted as a whole, or of
// code that must stay as it is.
func (p *planter) spared(e ast.Expr) bool {
	return p.within != nil && p.within.Pos() <= e.Pos() && e.End() <= p.within.End()
}

// typeName is how the file can write the type, or nothing if it cannot. Durations are left
// alone: a nanosecond more or less is no bug.
func (p *planter) typeName(t types.Type) string {
	switch t := t.(type) {
	case *types.Basic:
		return t.Name()
	case *types.Named:
		if t.TypeArgs() == nil && t.Obj().Pkg() == p.pkg && t.Obj().Parent() == p.pkg.Scope() {
			return t.Obj().Name()
		}
	}
	return ""
}

var swapped = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "=="}

// binary plants another operator, or leaves an operand out.
func (p *planter) binary(n *ast.BinaryExpr) {
	x, y := p.text(n.X), p.text(n.Y)
	switch n.Op {
	case token.EQL, token.NEQ:
		p.replace(n, "swap a comparison", x+" "+swapped[n.Op]+" "+y, "((%s) != mutantOn(%d))")
	case token.LSS, token.GTR, token.LEQ, token.GEQ:
		after := x + " " + swapped[n.Op] + " " + y
		switch {
		case p.unequal[x+" "+y]: // if a != b { return a < b }
		case strings.Contains(after, "\n"): // every line stays where it is
		case calls(n):
			p.replace(n, "swap a comparison", after, "(mutantOn(%[2]d) && ("+escape(after)+") || mutantChosen != %[2]d && (%[1]s))")
		case n.Op == token.LSS || n.Op == token.GTR:
			p.replace(n, "swap a comparison", after, "((%[1]s) || "+escape(x+" == "+y)+" && mutantOn(%[2]d))")
		default:
			p.replace(n, "swap a comparison", after, "((%[1]s) && !("+escape(x+" == "+y)+" && mutantOn(%[2]d)))")
		}
	case token.LAND:
		p.replaceIn(n.X, n, "drop an operand", y, "((%s) || mutantOn(%d))")
		p.replaceIn(n.Y, n, "drop an operand", x, "((%s) || mutantOn(%d))")
	case token.LOR:
		p.replaceIn(n.X, n, "drop an operand", y, "((%s) && !mutantOn(%d))")
		p.replaceIn(n.Y, n, "drop an operand", x, "((%s) && !mutantOn(%d))")
	case token.ADD, token.SUB:
		if b, ok := p.info.TypeOf(n).Underlying().(*types.Basic); !ok || b.Info()&(types.IsInteger|types.IsFloat) == 0 {
			return
		}
		name, op := "mutantSum", "-"
		if n.Op == token.SUB {
			name, op = "mutantDifference", "+"
		}
		m := p.replace(n, "swap an operator", x+" "+op+" "+y, name+"(%[2]d, %[1]s)")
		p.edit(m, n.OpPos, n.OpPos+1, func(string) string { return "," })
	}
}

// calls reports whether e does more than look, so that it must not be evaluated twice.
func calls(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); !ok || f.Name != "len" {
				found = true
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// condition plants one that is never true and one that always is.
func (p *planter) condition(cond ast.Expr) {
	if p.info.Types[cond].Value != nil {
		return
	}
	rule := "never"
	if b, ok := cond.(*ast.BinaryExpr); ok && b.Op == token.NEQ && types.Identical(p.info.TypeOf(b.X), types.Universe.Lookup("error").Type()) {
		rule = "ignore an error"
	}
	p.replace(cond, rule, "false", "((%s) && !mutantOn(%d))")
	p.replace(cond, "always", "true", "((%s) || mutantOn(%d))")
}

// call plants the other of min and max. It leaves the arguments of panic and make alone.
func (p *planter) call(n *ast.CallExpr) bool {
	f, ok := n.Fun.(*ast.Ident)
	if p.constant(n) || !ok {
		return true
	}
	if _, builtin := p.info.Uses[f].(*types.Builtin); !builtin {
		return true
	}
	switch {
	case f.Name == "panic" || f.Name == "make":
		return false
	case (f.Name == "min" || f.Name == "max") && len(n.Args) == 2:
		name, other := "mutantMin", "max"
		if f.Name == "max" {
			name, other = "mutantMax", "min"
		}
		m := p.add(n, "swap min and max", other+strings.TrimPrefix(p.text(n), f.Name))
		p.edit(m, f.Pos(), n.Lparen+1, func(string) string { return fmt.Sprintf("%s(%d, ", name, m.id) })
	}
	return true
}

// dropStatements plants that a call, an assignment or a count is left out.
func (p *planter) dropStatements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok {
				continue
			}
			if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "panic" {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || onlyBlank(s.Lhs) {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt:
		default:
			continue
		}
		p.replace(s, "drop a statement", "", "if !mutantOn(%[2]d) { %[1]s }")
	}
}

func onlyBlank(exprs []ast.Expr) bool {
	for _, e := range exprs {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// skipCase plants that a case of a switch with a tag does nothing. One that ends in a return
// is left alone: the compiler would miss the return.
func (p *planter) skipCase(c *ast.CaseClause) {
	if len(c.Body) == 0 {
		return
	}
	switch last := c.Body[len(c.Body)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return
	case *ast.ExprStmt:
		if call, ok := last.X.(*ast.CallExpr); ok && p.text(call.Fun) == "panic" {
			return
		}
	}
	p.insert(c, c.Colon+1, "skip a case", " if mutantOn(%d) { break };")
}

// skipElement plants that a loop leaves one element out.
func (p *planter) skipElement(x ast.Expr) {
	if p.info.Types[x].Value != nil {
		return
	}
	helper := ""
	switch t := p.info.TypeOf(x).Underlying().(type) {
	case *types.Slice:
		helper = "mutantSlice"
	case *types.Map:
		helper = "mutantMap"
	case *types.Basic:
		if t.Info()&types.IsInteger != 0 {
			helper = "mutantCount"
		}
	case *types.Signature:
		if yield, ok := t.Params().At(0).Type().Underlying().(*types.Signature); ok {
			helper = map[int]string{1: "mutantSeq", 2: "mutantSeq2"}[yield.Params().Len()]
		}
	}
	if helper != "" {
		p.replace(x, "skip an element", p.text(x)+" but one", helper+"(%[2]d, %[1]s)")
	}
}

// ignoreErrors plants that an error is not returned. Constants beside an error are left
// alone: nobody looks at them.
func (p *planter) ignoreErrors(r *ast.ReturnStmt) {
	for _, e := range r.Results {
		tv := p.info.Types[e]
		if !tv.IsNil() && types.Identical(tv.Type, types.Universe.Lookup("error").Type()) {
			p.replace(e, "ignore an error", "nil", "mutantNil(%[2]d, %[1]s)")
			p.within = r
		}
	}
}

// returnEarly plants a function that does nothing.
func (p *planter) returnEarly(t *ast.FuncType, body *ast.BlockStmt) {
	if len(body.List) == 0 {
		return
	}
	var zeros []string
	if t.Results != nil {
		for _, r := range t.Results.List {
			if len(r.Names) > 0 {
				zeros = nil
				break
			}
			zeros = append(zeros, "*new("+p.text(r.Type)+")")
		}
	}
	if results := strings.Join(zeros, ", "); !strings.Contains(results, "\n") {
		p.insert(t, body.Lbrace+1, "return early", " if mutantOn(%d) { return "+escape(results)+" };")
	}
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	return types.ExprString(f.Recv.List[0].Type) + "." + f.Name.Name
}

// escape protects text that becomes part of a format.
func escape(s string) string { return strings.ReplaceAll(s, "%", "%%") }
