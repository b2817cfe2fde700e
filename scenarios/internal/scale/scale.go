// Package scale makes a description of a run faster or slower: it multiplies every duration
// in it, wherever that is.
//
// What is not a plain duration says so in a struct tag:
//
//	scale:"rate"       the field is a number of things a second, and is divided
//	scale:"floor=1s"   the duration goes no lower than that, unless it is lower itself
//	scale:"zero=10m"   zero stands for that duration
//	scale:"-"          the field and whatever is in it stays as it is
//
// It knows nothing of what it scales and imports nothing of this module.
package scale

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Durations returns a copy of v in which every duration is multiplied by the factor: those of
// exported fields, and of what slices, maps, pointers and interfaces lead to, which are copied
// as well. A factor of 1 returns v itself.
func Durations[T any](v T, factor float64) T {
	if factor != 1 {
		scaled(reflect.ValueOf(&v).Elem(), factor, "")
	}
	return v
}

var durationType = reflect.TypeFor[time.Duration]()

// scaled replaces what is at an addressable value by a scaled copy.
func scaled(v reflect.Value, factor float64, tag string) {
	if tag == "-" {
		return
	}
	switch {
	case v.Type() == durationType:
		v.SetInt(int64(duration(time.Duration(v.Int()), factor, tag)))
		return
	case tag == "rate":
		v.SetFloat(v.Float() / factor)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				scaled(v.Field(i), factor, f.Tag.Get("scale"))
			}
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		fresh := fresh(v.Elem(), factor)
		if v.Kind() == reflect.Pointer {
			fresh = fresh.Addr()
		}
		v.Set(fresh)
	case reflect.Slice:
		all := reflect.MakeSlice(v.Type(), 0, v.Len())
		for i := range v.Len() {
			all = reflect.Append(all, fresh(v.Index(i), factor))
		}
		if !v.IsNil() {
			v.Set(all)
		}
	case reflect.Map:
		all := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			all.SetMapIndex(it.Key(), fresh(it.Value(), factor))
		}
		if !v.IsNil() {
			v.Set(all)
		}
	}
}

// fresh returns a scaled copy of a value, which can be written to.
func fresh(v reflect.Value, factor float64) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	to.Set(v)
	scaled(to, factor, "")
	return to
}

func duration(d time.Duration, factor float64, tag string) time.Duration {
	kind, text, _ := strings.Cut(tag, "=")
	if kind == "zero" && d == 0 {
		d = parse(text)
	}
	fast := time.Duration(float64(d) * factor)
	if kind == "floor" {
		fast = max(fast, min(d, parse(text)))
	}
	return fast
}

func parse(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("scale: tag: %v", err)) // tags are source code
	}
	return d
}
