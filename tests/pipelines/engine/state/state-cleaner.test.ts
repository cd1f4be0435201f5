import { expect, test } from 'vitest'
import { putComplete, putRestored } from '../../../../pipelines/engine/state/restore.ts'
import { stateCleaner } from '../../../../pipelines/engine/state/state-cleaner.ts'
import { taskPlace } from '../../../../pipelines/engine/task/task-place.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { wordCount } from '../words.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

test('the retention of state begins when its task moves away, no matter how long ago the state was last written', () => {
  const counting = wordCount()
  const [, part] = counting.subTopologies
  const place = taskPlace(counting.declare(), part, 0)
  const session = memoryBackend().session('words')
  const runtime = manualRuntime()
  let used = true
  const cleaner = stateCleaner({
    topology: 'words',
    places: [place],
    isUsed: () => used,
    keepMs: HOUR_MS,
    session,
    runtime,
  })
  const row = Buffer.from('to')
  const rows = () => [...session.column('totals', 0).scan({})].length
  session.column('totals', 0).put(row, 0, 1, row, 1, 2)
  putRestored(session, place.changelogs[0], 1, 0)
  putComplete(session, place, runtime.now() - 3 * HOUR_MS)
  session.write()
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += MINUTE_MS) {
      cleaner.cleanUp()
      runtime.advance(MINUTE_MS)
    }
  }

  pass(2 * HOUR_MS)
  used = false
  pass(HOUR_MS - MINUTE_MS)
  expect(rows()).toBe(1)
  used = true
  pass(2 * MINUTE_MS)
  used = false
  pass(HOUR_MS - MINUTE_MS)
  expect(rows()).toBe(1)
  pass(5 * MINUTE_MS)
  expect(rows()).toBe(0)
  expect(session.position(place.changelogs[0].positionName)).toBeUndefined()
})
