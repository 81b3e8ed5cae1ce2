package formula

// UseOf is useOf, for tests that compare what the generator makes of examples.
var UseOf = useOf

// CompareGradients is compareGradients, for tests of the catalogue, which imports this package.
var CompareGradients = compareGradients

// CompareReach is compareReach, for tests of the catalogue, too.
var CompareReach = compareReach

// CompareParts is compareParts, for tests of the catalogue, too.
var CompareParts = compareParts
