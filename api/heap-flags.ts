/**
 * Node flags for API processes. On a machine with much memory, V8 lets the space for new objects grow to 128 MB under
 * load. Most objects are needed only during a request, so 8 MB per semi-space is enough.
 */
export const API_HEAP_FLAGS: readonly string[] = ['--max-semi-space-size=8']
