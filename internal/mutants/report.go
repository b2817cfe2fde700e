//go:build unix

package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// row is a survivor as the table has it, without its line.
func (v verdict) row(module string) (place string, cells string) {
	rel, err := filepath.Rel(module, v.file)
	if err != nil {
		rel = v.file
	}
	return fmt.Sprintf("%s:%d", rel, v.line), fmt.Sprintf("| %s | %s | %s | %s |", code(v.function), v.rule, code(v.before), code(v.after))
}

// code is the first line of some source as a cell.
func code(s string) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 100 {
		s, more = strings.ToValidUTF8(s[:100], ""), true
	}
	if more {
		s += " …"
	}
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`) + "`"
}

// report is the verdicts as Markdown. Survivors that known has a row of are equivalent, and are
// counted only.
func report(title, command, module string, verdicts []verdict, known string) string {
	type count struct{ planted, killed, timedOut, unreached, equivalent, survived int }
	byRule := map[string]*count{"all": {}}
	var survivors []string
	slices.SortFunc(verdicts, func(a, b verdict) int { return cmp.Or(cmp.Compare(a.file, b.file), a.id-b.id) })
	for _, v := range verdicts {
		if byRule[v.rule] == nil {
			byRule[v.rule] = &count{}
		}
		place, cells := v.row(module)
		file, _, _ := strings.Cut(place, ":")
		equivalent := strings.Contains(known, "| "+file+" "+cells)
		for _, c := range []*count{byRule[v.rule], byRule["all"]} {
			c.planted++
			switch {
			case v.killer != "":
				c.killed++
				if v.timedOut {
					c.timedOut++
				}
			case equivalent:
				c.equivalent++
			default:
				c.survived++
				if v.reached == 0 {
					c.unreached++
				}
			}
		}
		if v.killer == "" && !equivalent {
			survivors = append(survivors, fmt.Sprintf("| %s %s %d |", place, cells, v.reached))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Mutants of %s\n\n`%s`\n\n", title, command)
	b.WriteString("| rule | planted | killed | of them by time | equivalent | survived | of them unreached |\n|---|---|---|---|---|---|---|\n")
	for _, rule := range slices.SortedFunc(maps.Keys(byRule), func(a, b string) int {
		return cmp.Or(byRule[b].planted-byRule[a].planted, cmp.Compare(a, b))
	}) {
		c := byRule[rule]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", rule, c.planted, c.killed, c.timedOut, c.equivalent, c.survived, c.unreached)
	}
	if len(survivors) > 0 {
		b.WriteString("\n## Survivors\n\n| place | in | rule | before | after | tests that reach it |\n|---|---|---|---|---|---|\n")
		b.WriteString(strings.Join(survivors, "\n") + "\n")
	}
	return b.String()
}
