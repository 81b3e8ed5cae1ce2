package rewrite

// The numbers by which statements are rewritten, and their limits. Those of loops are in package loops, with
// what was measured.

// crowded is the average number of elements of a segment up to which float32 sums accumulate in float32.
// Larger ones accumulate in float64.
const crowded = 4

// A sum of at least leastCut elements to one result is split into up to mostSums equal partial sums, which
// run in parallel if the task has a step for them.
const leastCut, mostSums = 1 << 16, 64

// mostParts is the maximum size, in terms, of a value that is inlined.
const mostParts = 16

// mostIntegral bounds the integers that are compared as integers with real numbers: float64, and int on all
// processors, represent them.
const mostIntegral = 1 << 30

// mostRanges is the maximum number of indices on whose ranges a range depends. Beyond it, the interval is
// unknown.
const mostRanges = 64

// mostFixed is the maximum number of elements of a tensor of constants.
const mostFixed = 4096

// mostHeld is the maximum number of elements of a temporary for a part of a reduction that is larger than all
// tensors which the reduction reads.
const mostHeld = 1 << 22

// leastHoisted is the minimum number of evaluations that hoisting must save.
const leastHoisted = 64

// leastLarge is the minimum number of elements of a temporary that is too large for the results of a nested
// scan, if it is also larger than all tensors of the task.
const leastLarge = 1 << 12

// maxResidues is the maximum number of statements into which residues splits one.
const maxResidues = 16

// Shortest is the minimum extent of an innermost loop that splitting creates.
const Shortest = 16

// maxPieces is the maximum number of statements into which pieces splits one.
const maxPieces = 8

// maxEdges is the maximum number of parts into which edged divides a sum: between both ends and at each.
const maxEdges = 3

// mostUnrolled is the maximum number of values of an index that become a statement each.
const mostUnrolled = 4

// leastProducts is the minimum number of multiplications of integers that are computed as a matrix product of
// real numbers, and of those of a sum that is divided so that a part of it is one.
const leastProducts = 4096

// mostRange bounds the intervals of factors of integer products, so that products of bounds do not overflow.
const mostRange = 1 << 24

// mostInWindow is the maximum size of a window around ranges whose lower bound is constant: most of the
// window might lie outside of the range.
const mostInWindow = 16

// mostWritten is the maximum number of elements of a window that are written one after the other, and
// mostTested that of those of which one is looked for that is within all borders.
const mostWritten, mostTested = 8, 256

// leastShared is the minimum number of iterations that share a place for which the place is computed before
// them, leastPlaces the minimum number of places that are computed less, and leastSteps the minimum number of
// operations of what else is.
const leastShared, leastPlaces, leastSteps = 2, 32, 2

// leastRows is the minimum number of rows whose short innermost loop is not split into pieces.
const leastRows = 64

// leastSaved is by how many times as many products a sum over several indices takes as an inner sum takes by
// itself, for the inner sum to be computed first.
const leastSaved = 4
