package driver

// Emit is emitAll, for tests that generate code without a folder.
var Emit = emitAll
