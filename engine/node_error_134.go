//go:build k134

package main

// In 1.34 no error concerns one node only.
func onlyThisNode(error) bool { return false }
