//go:build !race

package explore_test

const racing = false
