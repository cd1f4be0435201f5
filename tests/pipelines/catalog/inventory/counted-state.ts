import { lowerBound } from '../../../../state/stores/lower-bound.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { ByteRange, StateBackend, StateColumn, StateSession } from '../../../../state/stores/store.ts'

/** The reads and writes since the last call of `take`. */
export interface Work {
  /** Number of keys that were looked up. */
  readonly reads: number
  /** Number of rows that scans visited, including deleted rows. */
  readonly passed: number
  readonly writes: number
  readonly writtenBytes: number
}

export interface CountedState {
  readonly openState: () => StateBackend
  /** Returns the reads and writes since the last call. */
  take(): Work
}

const NO_WORK: Work = { reads: 0, passed: 0, writes: 0, writtenBytes: 0 }

/**
 * Creates in-memory state that counts reads and writes. Deleted rows count as visited by a scan, because a real
 * database keeps deleted rows until a compaction removes them.
 */
export function countedState(): CountedState {
  let work = { ...NO_WORK }

  function counted(column: StateColumn): StateColumn {
    const everWritten: string[] = []

    function remember(key: string): void {
      const at = lowerBound(everWritten, (other) => other < key)
      if (everWritten[at] !== key) everWritten.splice(at, 0, key)
    }

    function* scan(range: ByteRange): Generator<readonly [Buffer, Buffer]> {
      if (range.reverse) throw new Error('unexpected: a scan in descending order, which this state does not count')
      let at = range.gte === undefined ? 0 : lowerBound(everWritten, isBefore(range.gte))
      for (const row of column.scan(range)) {
        const next = lowerBound(everWritten, isBefore(row[0])) + 1
        work.passed += next - at
        at = next
        yield row
      }
      const end = range.lt === undefined ? everWritten.length : lowerBound(everWritten, isBefore(range.lt))
      work.passed += Math.max(0, end - at)
    }

    return {
      scrub: column.scrub,
      scan,
      multiGet(keys) {
        work.reads += keys.ends.length
        return column.multiGet(keys)
      },
      put(key, keyStart, keyEnd, value, valueStart, valueEnd) {
        work.writes++
        work.writtenBytes += keyEnd - keyStart + (value === null ? 0 : valueEnd - valueStart)
        remember(Buffer.from(key.subarray(keyStart, keyEnd)).toString('latin1'))
        column.put(key, keyStart, keyEnd, value, valueStart, valueEnd)
      },
    }
  }

  function countedSession(session: StateSession): StateSession {
    return { ...session, column: (store, partition) => counted(session.column(store, partition)) }
  }

  return {
    openState() {
      const backend = memoryBackend()
      return { ...backend, session: (topology) => countedSession(backend.session(topology)) }
    },
    take() {
      const taken = work
      work = { ...NO_WORK }
      return taken
    },
  }
}

/**
 * Returns a function that reports whether a key sorts before a bound. Keys and bound are compared as latin1 text,
 * because the order of latin1 text is the order of its bytes.
 */
function isBefore(bound: Buffer): (key: string) => boolean {
  const text = bound.toString('latin1')
  return (key) => key < text
}
