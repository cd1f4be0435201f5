import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../../api/kit/logging.ts'
import { feedSnapshotOpener } from '../../../../api/kit/snapshots/feed-snapshot.ts'
import { diskFiles, type SpoolFiles } from '../../../../api/kit/spool/files.ts'
import { topicFeedOpener } from '../../../../api/kit/topic-feed.ts'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { byteWriter } from '../../../../schemas/codec.ts'
import { EPOCH, inEpoch } from '../../../kafka/in-epoch.ts'
import { textTopic } from '../../../pipelines/engine/words.ts'
import { recreatable } from '../recreatable.ts'

const topic = textTopic('notes', 1)
const HOUR_MS = 3_600_000

/**
 * Simulates a service that keeps the notes of a topic. The returned functions change the topic, and start processes of
 * the service.
 */
function world() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-feeds-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const broker = memoryBroker()
  broker.createTopic({ name: topic.name, partitions: topic.partitions })
  const { transport, recreate } = recreatable(broker)
  /** `aheadMs`: how far the system's clock is ahead. `laterMs`: how much time has passed. */
  const clock = { aheadMs: 0, laterMs: 0 }
  const time = { now: () => Date.now() + clock.aheadMs + clock.laterMs, monotonic: () => performance.now() + clock.laterMs }
  const lines: Record<string, unknown>[] = []
  const log = createLogger('debug', { write: (line: string) => void lines.push(JSON.parse(line)) })
  let looks = 0
  const files: SpoolFiles = {
    ...diskFiles,
    async writtenAt(at) {
      if (at === path) looks++
      return await diskFiles.writtenAt(at)
    },
  }
  const path = join(folder, 'notes.snapshot')
  const epochs: (number | undefined)[] = []
  const openFeed = topicFeedOpener({ transport: inEpoch(transport, epochs), registry: memoryRegistry(), log, monotonic: time.monotonic })

  function put(key: string, text: string | null): void {
    const out = byteWriter()
    if (text !== null) topic.value.open(0, { get: () => undefined }).encode(text, out)
    const value = text === null ? null : Buffer.from(out.buffer.subarray(0, out.length))
    broker.append(topic.name, 0, { timestamp: 1, key: Buffer.from(key), value, headers: [] })
  }

  async function start({ form = 'one', intervalMs = 0, waitMs = 0 } = {}) {
    const snapshot = await feedSnapshotOpener({ folder, files, log, ...time, intervalMs, lookMs: 5 })({
      name: 'notes',
      form,
      async load(blocks) {
        const notes = new Map<string, string>()
        for await (const block of blocks) notes.set(...(JSON.parse(block.toString()) as [string, string]))
        return notes
      },
    })
    clock.laterMs += waitMs
    const notes = snapshot.loaded ?? new Map<string, string>()
    const loaded = [...notes]
    const read: string[] = []
    const feed = await openFeed(
      topic,
      (key, value) => {
        read.push(key)
        if (value === undefined) notes.delete(key)
        else notes.set(key, value)
      },
      () => notes.keys(),
      snapshot.positionIn(topic.name),
    )
    snapshot.keep(new Map([[topic.name, feed]]), () => Array.from(notes, (note) => Buffer.from(JSON.stringify(note))))
    let isStopped = false
    async function stop(): Promise<void> {
      if (!isStopped) await Promise.all([snapshot.close(), feed.close()])
      isStopped = true
    }
    onTestFinished(stop)
    await expect.poll(() => feed.probe.check()).toBeUndefined()
    return { notes, loaded, read, stop }
  }

  const size = () => readFileSync(path).length
  return {
    clock,
    recreate,
    looks: () => looks,
    epochs,
    put,
    start,
    path,
    size,
    events: (event: string) => lines.filter((line) => line.event === event),
  }
}

/** Starts a process, waits until it has saved three notes, and stops it. */
async function saved() {
  const found = world()
  for (const key of ['a', 'b', 'c']) found.put(key, `old ${key}`)
  const { stop } = await found.start()
  await expect.poll(found.size).toBeGreaterThan(0)
  await stop()
  return found
}

test('a process loads the snapshot, and reads only later records', async () => {
  const { start, put } = await saved()
  put('b', null)
  put('d', 'new d')
  const { loaded, read, notes } = await start()
  expect(loaded.map(([key]) => key)).toEqual(['a', 'b', 'c'])
  expect(read).toEqual(['b', 'd'])
  expect([...notes.keys()]).toEqual(['a', 'c', 'd'])
})

test('a process that loads the snapshot resumes with the stored leader epochs, so that a loss of records since the snapshot is detected', async () => {
  const { start, epochs } = await saved()
  epochs.length = 0
  await start()
  expect(epochs).toEqual([EPOCH])
})

test('after the topic was created again, the notes from the snapshot are removed', async () => {
  const { start, put, recreate } = await saved()
  recreate(topic.name, () => put('b', 'new b'))
  const { loaded, notes } = await start()
  expect(loaded).toHaveLength(3)
  expect([...notes]).toEqual([['b', 'new b']])
})

test.each([
  ['a damaged snapshot', (path: string) => writeFileSync(path, readFileSync(path).fill(1, 30)), {}, 0],
  ['a snapshot in another form', () => undefined, { form: 'other' }, 0],
  ['a snapshot that is more than twelve hours old', () => undefined, {}, 13 * HOUR_MS],
  ['a snapshot from the future', () => undefined, {}, -HOUR_MS],
])('%s is ignored, and the topic is read from its beginning', async (_, damage, options, aheadMs) => {
  const { start, path, clock, events } = await saved()
  damage(path)
  clock.aheadMs = aheadMs
  const { loaded, read } = await start(options)
  expect([loaded, read]).toEqual([[], ['a', 'b', 'c']])
  expect(events('table_snapshot_ignored')).toHaveLength(1)
})

test('if a loaded snapshot becomes too old before the topic can be read, the topic is read from its beginning', async () => {
  const { start, clock, events } = await saved()
  clock.laterMs = 7 * HOUR_MS
  const { loaded, read } = await start({ waitMs: 6 * HOUR_MS })
  expect([loaded.length, read]).toEqual([3, ['a', 'b', 'c']])
  expect(events('table_starts_over')).toHaveLength(1)
})

test('after the clock was set back, changes are still saved', async () => {
  const { start, put, size, clock } = await saved()
  const before = size()
  await start()
  clock.aheadMs = -HOUR_MS
  put('d', 'new d')
  await expect.poll(size).toBeGreaterThan(before)
})

test('a snapshot that another process has just written is not replaced', async () => {
  const { start, put, size, looks } = await saved()
  const [before, looksBefore] = [size(), looks()]
  put('d', 'new d')
  // The snapshot of the other process has another form, so this process cannot use it.
  const { stop } = await start({ form: 'two', intervalMs: HOUR_MS })
  await expect.poll(looks).toBeGreaterThan(looksBefore)
  await stop()
  expect(size()).toBe(before)
  await start()
  await expect.poll(size).toBeGreaterThan(before)
})

test('after the clock was set back, the snapshot is replaced without waiting for the interval', async () => {
  const { start, put, size, clock } = await saved()
  const before = size()
  await start({ intervalMs: HOUR_MS })
  put('d', 'new d')
  clock.aheadMs = -2 * HOUR_MS
  await expect.poll(size).toBeGreaterThan(before)
})
