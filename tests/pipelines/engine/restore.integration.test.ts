import { join } from 'node:path'
import { Admin } from '@platformatic/kafka'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { partitionKey } from '../../../kafka/transport.ts'
import { repartitionTopicName } from '../../../pipelines/engine/internal-topics.ts'
import { openRocksdbBackend } from '../../../state/stores/rocksdb-backend.ts'
import { testStack } from '../../stack/index.ts'
import { authorLines, exactCounts, type WordBench, wordBench } from './broker-bench.ts'

const DAY_MS = 24 * 3_600_000
/** Of the word count's second stage. */
const WORD_PARTITIONS = 3
/** A word that nobody sends until the end. */
const GHOST = 'ghost'
const GHOST_TOTAL = 41

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

/** One life of a worker: it counts the lines and stops in order. */
async function life(bench: WordBench, folder: string, lines: readonly [author: string, line: string][]): Promise<void> {
  const worker = bench.spawn({ folder: join(bench.folder.path, folder) })
  await worker.ready
  await bench.send(lines)
  await bench.complete()
  worker.child.kill('SIGTERM')
  expect(await worker.exited).toBe(0)
}

test("when the group's offsets are gone from the broker, those in RocksDB are used: nothing is lost or doubled", async () => {
  const bench = await wordBench(brokers)
  await life(bench, 'state', authorLines(200, 1))
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [brokers] })
  onTestFinished(() => admin.close())
  const groups = [bench.topology]
  const committed = async () => (await admin.listConsumerGroupOffsets({ groups })).flatMap(({ topics }) => topics.map(({ name }) => name))
  expect(await committed()).toContain(bench.lines)
  await admin.deleteGroups({ groups })
  expect(await committed().catch(() => [])).toEqual([])
  await life(bench, 'state', authorLines(200, 2))
  expect(await bench.output()).toEqual(exactCounts(bench.expected))
})

/** A row that the changelog does not know (any more), as of a tombstone that was missed; and the state is as old as given. */
async function hauntState(bench: WordBench, folder: string, ageMs: number): Promise<void> {
  const backend = await openRocksdbBackend({ folder: join(bench.folder.path, folder) })
  const session = backend.session(bench.topology)
  const partition = partitionFor(Buffer.from(GHOST), WORD_PARTITIONS)
  const [key, value] = [Buffer.from(GHOST), Buffer.from(String(GHOST_TOTAL))]
  session.column('totals', partition).put(key, 0, key.length, value, 0, value.length)
  const writtenAt = `written-at/${partitionKey(repartitionTopicName(bench.topology, 'by-word'), partition)}`
  expect(session.position(writtenAt)).toBeGreaterThan(0)
  session.putPosition(writtenAt, Date.now() - ageMs)
  session.write()
  await backend.close()
}

test.each([
  { what: 'older than tombstones are kept is loaded anew', ageMs: 2 * DAY_MS, expected: [1, 2] },
  { what: 'not as old is used, and only what others have written is read', ageMs: 0, expected: [GHOST_TOTAL + 1, GHOST_TOTAL + 2] },
])('state on disk that is $what', async ({ ageMs, expected }) => {
  const bench = await wordBench(brokers)
  await life(bench, 'away', authorLines(100, 1))
  await life(bench, 'other', authorLines(100, 2))
  await hauntState(bench, 'away', ageMs)
  await life(bench, 'away', [...authorLines(100, 3), ['ann', `${GHOST} ${GHOST}`]])
  const { [GHOST]: ghost, ...others } = Object.fromEntries(await bench.output())
  expect(ghost).toEqual(expected)
  const { [GHOST]: _, ...known } = Object.fromEntries(exactCounts(bench.expected))
  expect(others).toEqual(known)
})
