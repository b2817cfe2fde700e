package sweep

// defaultMemory is what a machine that does not say is taken to have free.
const defaultMemory = 4 << 30
