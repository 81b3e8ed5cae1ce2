package loops

import "os"

// blockSizes are the sizes of blocks of iterations. The units of a group compute a block one after the other,
// so that temporaries stay in the cache.
type blockSizes struct {
	elements int // approximate elements of a block
	rows     int // minimum rows of matrix products in a block
	columns  int // minimum results in a block, along the vectorized index, of sums over an outer index
	least    int // minimum size in bytes of a temporary of which a share keeps only a block
}

// blocks are the sizes in use. OPGEN_BLOCKS=small makes blocks tiny, so that tests on small tensors have
// several. Results are the same.
var blocks = func() blockSizes {
	if os.Getenv("OPGEN_BLOCKS") == "small" {
		return blockSizes{elements: 3, rows: 2}
	}
	return blockSizes{elements: 16384, rows: 128, columns: 256, least: 64 << 10}
}()
