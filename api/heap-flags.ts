/**
 * Node flags for API processes. On a machine with much memory V8 lets the space of new objects grow to 128 MB under
 * load. Most objects of a request die with it, so a twentieth of that is enough.
 */
export const API_HEAP_FLAGS: readonly string[] = ['--max-semi-space-size=8']
