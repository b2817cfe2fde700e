package sweep

// defaultMemory is the free memory of a machine that does not tell.
const defaultMemory = 4 << 30
