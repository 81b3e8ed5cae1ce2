package loops

import "os"

// blockSizes are the sizes of the blocks that the units of a group compute in turn.
type blockSizes struct {
	elements int // approximate elements of a block
	rows     int // minimum rows of matrix products in a block
	columns  int // minimum results of sums over rows in a block, of which each row has these as neighbors
	least    int // minimum size in bytes of a temporary of which shares keep one block
}

// blocks are the sizes in use. OPGEN_BLOCKS=small makes blocks tiny, so that tests on small tensors have
// several. Results are the same.
var blocks = func() blockSizes {
	if os.Getenv("OPGEN_BLOCKS") == "small" {
		return blockSizes{elements: 3, rows: 2}
	}
	return blockSizes{elements: 16384, rows: 128, columns: 256, least: 64 << 10}
}()
