// Command bench measures the gateway against handlers that bound it from both sides.
package main

func main() {}
