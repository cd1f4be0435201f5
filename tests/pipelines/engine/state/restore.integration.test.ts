import { join } from 'node:path'
import { Admin } from '@platformatic/kafka'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { partitionKey } from '../../../../kafka/transport.ts'
import { repartitionTopicName } from '../../../../pipelines/engine/topology/internal-topics.ts'
import { openRocksdbBackend } from '../../../../state/stores/rocksdb-backend.ts'
import { AT_FIRST_TRY, testStack } from '../../../stack/index.ts'
import { authorLines, exactCounts, type WordBench, wordBench } from '../worker/broker-bench.ts'

const DAY_MS = 24 * 3_600_000
/** Number of partitions of the word count's second stage. */
const WORD_PARTITIONS = 3
/** Words from two different partitions. The test sends them only at the end. */
const OLD_GHOST = 'ghost'
const YOUNG_GHOST = ['phantom', 'spectre', 'wraith', 'shade'].find((word) => partitionOf(word) !== partitionOf(OLD_GHOST)) as string
const GHOST_TOTAL = 41

function partitionOf(word: string): number {
  return partitionFor(Buffer.from(word), WORD_PARTITIONS)
}

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

/** Starts a worker, sends it the lines, and stops it gracefully once it has counted all of them. */
async function life(bench: WordBench, folder: string, lines: readonly [author: string, line: string][]): Promise<void> {
  const worker = bench.spawn({ folder: join(bench.folder.path, folder) })
  await worker.ready
  await bench.send(lines)
  await bench.complete()
  worker.child.kill('SIGTERM')
  expect(await worker.exited).toBe(0)
}

test(
  'when the group offsets are missing on the broker, the offsets in RocksDB are used, without loss or duplicates',
  AT_FIRST_TRY,
  async () => {
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
  },
)

/**
 * Adds rows that the changelog does not contain, as if the worker had missed their tombstones. Sets the age of the
 * state of their partitions.
 */
async function hauntState(bench: WordBench, folder: string, ghosts: readonly { word: string; ageMs: number }[]): Promise<void> {
  const backend = await openRocksdbBackend({ folder: join(bench.folder.path, folder) })
  const session = backend.session(bench.topology)
  for (const { word, ageMs } of ghosts) {
    const partition = partitionOf(word)
    const [key, value] = [Buffer.from(word), Buffer.from(String(GHOST_TOTAL))]
    session.column('totals', partition).put(key, 0, key.length, value, 0, value.length)
    const writtenAt = `written-at/${partitionKey(repartitionTopicName(bench.topology, 'by-word'), partition)}`
    expect(session.position(writtenAt)).toBeGreaterThan(0)
    session.putPosition(writtenAt, Date.now() - ageMs)
  }
  session.write()
  await backend.close()
}

test('state on disk that is older than the retention of tombstones is restored from scratch, and newer state is used', async () => {
  const bench = await wordBench(brokers)
  await life(bench, 'away', authorLines(100, 1))
  await life(bench, 'other', authorLines(100, 2))
  await hauntState(bench, 'away', [
    { word: OLD_GHOST, ageMs: 2 * DAY_MS },
    { word: YOUNG_GHOST, ageMs: 0 },
  ])
  await life(bench, 'away', [...authorLines(100, 3), ['ann', `${OLD_GHOST} ${YOUNG_GHOST} ${OLD_GHOST}`]])
  const exact = exactCounts(bench.expected)
  expect(await bench.output()).toEqual(exact.set(YOUNG_GHOST, [GHOST_TOTAL + 1]))
})
