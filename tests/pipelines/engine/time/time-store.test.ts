import { beforeEach, expect, test } from 'vitest'
import { type TimeStore, timeStore } from '../../../../pipelines/engine/time/time-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import type { StateBackend } from '../../../../state/stores/store.ts'
import { openStore, TOPOLOGY, testChangelog } from '../../../state/stores/harness.ts'

const STORE = 'report-time'

let backend: StateBackend
let store: TimeStore

beforeEach(() => {
  backend = memoryBackend()
  store = openStore(timeStore(STORE), backend)
})

/** Returns the state that a worker would have if it started now. */
function restored(): Record<string, number> {
  const again = openStore(timeStore(STORE), backend)
  return Object.fromEntries([...again.keys()].map((key) => [key, again.get(key) as number]))
}

test('changes that are made during a commit belong to the next commit', () => {
  const changelog = testChangelog()
  const session = backend.session(TOPOLOGY)
  store.put('closed', 1)
  store.put('sent/1', 2)
  store.flush(changelog)
  const first = session.takeBatch()
  store.put('closed', 2)
  store.delete('sent/1')
  first.write()
  changelog.commit()
  store.committed()
  expect(restored()).toEqual({ closed: 1, 'sent/1': 2 })

  expect(store.dirtyKeys).toBe(2)
  store.flush(changelog)
  session.write()
  changelog.commit()
  store.committed()
  expect(store.dirtyKeys).toBe(0)
  expect(restored()).toEqual({ closed: 2 })
  expect([...changelog.rows.keys()]).toEqual(['closed'])
})

test('uncommitted changes are discarded', () => {
  store.put('closed', 1)
  store.flush(undefined)
  backend.session(TOPOLOGY).write()
  store.committed()
  store.put('closed', 2)
  store.put('marker/votes/0', 2)
  store.flush(undefined)
  backend.session(TOPOLOGY).dropBatch()
  store.discard()
  expect([...store.keys()].map((key) => [key, store.get(key)])).toEqual([['closed', 1]])
  expect(store.dirtyKeys).toBe(0)
})
