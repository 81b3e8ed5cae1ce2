package formula

// UseOf exports useOf to tests that compare uses of the generator and the runtime.
var UseOf = useOf

// CompareGradients exports compareGradients to tests of the catalogue, which imports this package.
var CompareGradients = compareGradients

// CompareReach exports compareReach to tests of the catalogue.
var CompareReach = compareReach

// CompareParts exports compareParts to tests of the catalogue.
var CompareParts = compareParts
