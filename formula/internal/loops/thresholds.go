package loops

// The numbers by which loops are chosen, and their limits. "Measured" gives times of tasks of the catalogue
// with another number divided by those with this one, on a processor with AVX-512: above 1, this one is
// faster.

// crowded is the average number of elements of a segment up to which sums of float32 do not accumulate in
// float64.
const crowded = 4

// flushed is the number of terms in a partial sum of T.
const flushed = 64

// mostBegins is the maximum length of begins.
// Measured with 0: average pooling 1.65 to 2.6.
const mostBegins = 256

// A sum of at least leastCut elements to one result is split into up to mostSums equal partial sums, which
// run in parallel if the task has a step for them.
const leastCut, mostSums = 1 << 16, 64

// linesTogether is the approximate number of elements in the rows of one call.
// Measured with 1 Ki: up to 2.0 for 8 rows of 1024, 1.3 for 4096 of 256; with 128 Ki: 0.99.
const linesTogether = 16 << 10

// evenLength is the required divisor of the row length.
// Measured without rows in place: extremes of 16384 rows of 64 13, sums 1.4.
const evenLength = 64

// loopLength is the maximum length of an execution of one fused loop without buffers.
// Measured with 1 Ki: normalizations of rows 0.99, with 128 Ki 0.98.
const loopLength = 16 * stripLength

// mostNumbers is the maximum number of scalars of a fused loop.
const mostNumbers = 32

// mostFolds is the maximum number of reductions of one loop.
const mostFolds = 4

// mostParts is the maximum size, in terms, of a value that is inlined.
const mostParts = 16

// mostRanges is the maximum number of indices in the dependences of a range. A longer chain makes the
// interval unknown.
const mostRanges = 64

// mostFixed is the maximum number of elements of a tensor of constants.
const mostFixed = 4096

// leastHoisted is the minimum number of evaluations that hoisting must save.
const leastHoisted = 64

// mostStrides is the maximum number of loops of a movement.
const mostStrides = 8

// leastLarge is a number of elements. A temporary that is larger, and larger than all tensors of the task, is
// not used to hold the results of a nested scan.
const leastLarge = 1 << 12

// fewCompared is the maximum number of elements that are compared one by one, which is faster than by lanes.
// Measured with 0: rows of 4 1.7, of 8 1.45, of 13 1.2; with 128: rows of 33 1.5.
const fewCompared = 32

// leastFetched is the minimum size in bytes of a tensor whose rows are prefetched. Smaller ones stay in a
// cache.
// Measured without prefetch: gradients of embeddings of 25 MiB 1.11, of 0.8 to 6 MiB 0.79 to 0.9.
const leastFetched = 16 << 20

// fewAdded is the maximum length of a row that an inline loop adds. A call costs more.
// Measured with 0: rows of 4 1.27, of 10 1.1 to 1.3; with 12: rows of 16 1.2 for a small table, 1.09 for a
// large one.
const fewAdded = 16

// leastShared is the minimum number of products of the same size that share a packed copy of a factor. They
// run on several workers. A single product is faster if it packs blocks, which stay in the L2 cache.
const leastShared = 4

// longRow is the minimum row length of a matrix-vector product that is computed as reductions.
const longRow = 64

// leastRoom is the minimum size in bytes of a task's temporaries that are in an arena.
const leastRoom = 64 << 10

// roomAlign is the alignment of temporaries in an arena.
const roomAlign = 64

// stripLength is the number of elements in a strip. The buffers of several strips fit the L1 cache.
const stripLength = 1024

// distance is the prefetch distance, in iterations.
// Measured with 1: gradients of embeddings with long rows 1.1.
const distance = 8

// scanned is the maximum number of elements in the buffer of suffix reductions of a leave-one-out scan.
const scanned = 1 << 17

// longestShort is the maximum length of a short row.
// Measured with 16: softmax over a middle dimension with 64 behind it 2.7 to 3.1; with 512: 1.02 in the mean.
const longestShort = 128

// maxResidues is the maximum number of statements that residues returns.
const maxResidues = 16

// shortest is the minimum extent of an innermost loop that splitting creates.
const shortest = 16

// leastFlat is the number of iterations that suffices for a strip over several short loops.
const leastFlat = 256

// maxPieces is the maximum number of pieces of a statement.
const maxPieces = 8

// mostUnrolled is the maximum extent of a loop that is unrolled.
const mostUnrolled = 4

// wide is the number of iterations of shared loops that suffices for any number of workers.
const wide = 64

// tileSide is the number of rows and columns of a tile.
// Measured with 16: 0.86 for 256 rows and columns, 1.09 for 2048; with 256: 1.76 for 256.
const tileSide = 64

// pastRows and pastCols are the rows and columns of a tile for non-temporal stores: several cache lines
// each.
const pastRows, pastCols = 128, 64

// fewTested is the number of elements up to which conditions are reduced one by one, which is faster than by
// strips.
const fewTested = 8

// leastProducts is the minimum number of products in integer sums that are computed as a matrix product.
const leastProducts = 4096

// mostRange bounds the intervals of factors, so that products of bounds do not overflow.
const mostRange = 1 << 24

// mostInWindow is the maximum extent of a range that does not move, for which windowed loops over a constant
// superset.
const mostInWindow = 16

// A share uses non-temporal stores if its group writes at least leastWritten bytes and accesses at least
// leastUsed bytes, and if the share writes at least leastPart bytes. Caches cannot hold the results until
// they are read, and non-temporal stores do not load a line before overwriting it. The bounds are for the
// whole group, whose shares run concurrently. Shares of chains of tasks are smaller, and their results are
// read from a cache. Tests change the bounds.
var leastWritten, leastUsed, leastPart = 8 << 20, 24 << 20, 1 << 20

// leastRows is how many times the operations before all rows the others take at least, unless the former are
// at most fewBefore. One tile computes what comes before all rows, while others wait. Not measured.
const leastRows, fewBefore = 8, 1 << 12

// mostReach is how far from the beginning and the end of its index a recurrence has code of its own for reads
// that are outside there. Farther ones are tested at all values. Not measured.
const mostReach = 4

// roundElements is of how many elements a recurrence goes over all values of its index at once, where others
// do not depend on them: what one value gives is in a cache for the next. Not measured.
const roundElements = 4096
