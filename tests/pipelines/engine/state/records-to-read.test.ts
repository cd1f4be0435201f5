import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionKey } from '../../../../kafka/transport.ts'
import { planRestore, putComplete, putRestored, recordsToRead } from '../../../../pipelines/engine/state/restore.ts'
import { taskPlace } from '../../../../pipelines/engine/task/task-place.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { wordCount } from '../words.ts'

const NOW = 1_800_000_000_000
const HOUR_MS = 3_600_000
const offset = fc.integer({ min: 0, max: 20 })

test('the number of records that a worker expects to read equals the number that its restore reads', () => {
  const counting = wordCount()
  const place = taskPlace(counting.declare(), counting.subTopologies[1], 0)
  const [changelog] = place.changelogs
  const key = partitionKey(changelog.topic, changelog.partition)
  const stored = fc.record({ at: offset, hoursAgo: fc.constantFrom(-1, 0, 1, 30), epochEnd: fc.option(offset, { nil: undefined }) })
  fc.assert(
    fc.property(offset, offset, fc.option(stored), (start, length, state) => {
      const session = memoryBackend().session('words')
      if (state !== null) {
        putRestored(session, changelog, state.at, 1)
        putComplete(session, place, NOW - state.hoursAgo * HOUR_MS)
        session.write()
      }
      const offsets = {
        committed: new Map(),
        changelogStarts: new Map([[key, start]]),
        changelogEnds: new Map([[key, start + length]]),
        changelogEpochEnds: new Map(state?.epochEnd === undefined ? [] : [[key, state.epochEnd]]),
        topicIds: new Map([[changelog.topic, 'id']]),
        now: NOW,
        exactlyOnce: true,
      }
      const expected = recordsToRead(session, place, offsets)
      const ranges = planRestore(session, place, offsets)
      expect(expected).toBe(ranges.reduce((sum, { from, to }) => sum + Math.max(0, to - from), 0))
    }),
  )
})
