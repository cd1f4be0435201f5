import type { PartitionData } from '../../kafka/transport.ts'
import type { StateSession } from '../../state/stores/store.ts'
import type { Changelog } from './task-place.ts'

/** Copies changelog records into the session's open batch: the bytes of the log are the bytes of the state. */
export function copyChangelog(session: StateSession, { store, partition }: Changelog, { chunks }: PartitionData): void {
  const column = session.column(store, partition)
  for (const { buffer, count, keyStart, keyEnd, valueStart, valueEnd } of chunks) {
    for (let i = 0; i < count; i++) {
      if (keyStart[i] < 0) continue
      const value = valueStart[i] < 0 ? null : buffer
      column.put(buffer, keyStart[i], keyEnd[i], value, Math.max(0, valueStart[i]), Math.max(0, valueEnd[i]))
    }
  }
}
