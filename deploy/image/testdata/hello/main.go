// Hello is what is put into images of tests.
package main

func main() { println("hello") }
