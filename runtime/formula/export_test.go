package formula

// UseOf is useOf, for tests that compare what the generator makes of examples.
var UseOf = useOf
