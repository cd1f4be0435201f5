/**
 * Node flags for processes that move a lot of data through the transport.
 *
 * V8 starts a full collection after every 32 to 64 MB of new buffers, regardless of the heap's size. Fetched bytes are
 * buffers, so there are 15 to 20 full collections per million records. They take half of the transport's CPU time.
 * Measured with 1M records of 200 bytes on a busy 2-core machine: consuming 0.55 → 0.24 CPU seconds, read-process-write
 * 1.2 → 0.46; peak memory 300 → 460 MB.
 *
 * The first flag counts buffers against the heap limit like other objects. The second flag (in MB) raises that limit,
 * which is small in a process that has just started.
 */
export const BUFFER_HEAP_FLAGS: readonly string[] = ['--external-memory-accounted-in-global-limit', '--initial-heap-size=256']
