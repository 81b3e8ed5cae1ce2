package loops

import "os"

// blockSizes says how large the blocks are that units of a group compute in turn.
type blockSizes struct {
	elements int // about how many a block has
	rows     int // how many rows of products of matrices it has at least
	least    int // how many bytes a local tensor has at least of which parts keep a block
}

// blocks are the sizes in use. With the environment variable OPGEN_BLOCKS=small, small tensors have several
// blocks, too, as tests want them. Results are the same.
var blocks = func() blockSizes {
	if os.Getenv("OPGEN_BLOCKS") == "small" {
		return blockSizes{elements: 3, rows: 2}
	}
	return blockSizes{elements: 16384, rows: 128, least: 64 << 10}
}()
