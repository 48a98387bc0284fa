package config

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// leaf decodes one scalar.
func (d *decoder) leaf(n ast.Node, path string, f field, v reflect.Value) {
	text, ok := scalarText(n)
	if !ok {
		d.addAt(at(n), path, "must be %s%s", kindOf(v.Type()), hint(n))
		return
	}
	d.at[path] = at(n)
	if v.Type() == secretType {
		s, err := d.secret(text)
		if err != nil {
			d.addAt(at(n), path, "%v", err)
		}
		v.Set(reflect.ValueOf(s))
		return
	}
	value, expanded, err := d.expand(text)
	if err != nil {
		d.addAt(at(n), path, "%v", err)
		return
	}
	if err := d.scalar(value, f, v); err != nil {
		shown := fmt.Sprintf("%q", shorten(value))
		if expanded {
			shown = "the value of " + shorten(text)
		}
		d.addAt(at(n), path, "%s %v", shown, err)
	}
}

// scalar reads text as the field's type.
func (d *decoder) scalar(text string, f field, v reflect.Value) (err error) {
	switch v.Interface().(type) {
	case time.Duration:
		var x time.Duration
		x, err = parseDuration(text)
		v.SetInt(int64(x))
	case Size:
		var x Size
		x, err = parseSize(text)
		v.SetInt(int64(x))
	case Rate:
		var x Rate
		x, err = parseRate(text)
		v.Set(reflect.ValueOf(x))
	case netip.Prefix:
		var x netip.Prefix
		x, err = parsePrefix(text)
		v.Set(reflect.ValueOf(x))
	case int:
		x, e := strconv.ParseInt(text, 10, 32)
		if e != nil {
			err = errors.New("is not a whole number")
		}
		v.SetInt(x)
	case bool:
		if text != "true" && text != "false" {
			err = errors.New("is neither true nor false")
		}
		v.SetBool(text == "true")
	case string:
		err = f.check(text)
		v.SetString(text)
	}
	if err == nil && f.least != "" {
		err = f.atLeast(v)
	}
	return err
}

func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, errors.New("is neither an address nor a range such as 10.0.0.0/8")
	}
	return p.Masked(), nil
}

// scalarText is a scalar's text as written; null is not a scalar here, because
// a field without a value is more often a slip than a wish.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}
