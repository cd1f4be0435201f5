import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { AT_FIRST_TRY, testStack } from '../../../stack/index.ts'
import { authorLines, DEADLINE_MS, exactCounts, type WorkerProcess, wordBench } from './broker-bench.ts'

let brokers: string

beforeAll(async () => {
  brokers = await testStack().kafka()
})

const BLOCKING_LINE: [string, string] = ['author-1', 'blocked all']
const WARM_UP_LINE: [string, string] = ['author-1', 'brief stall']
/**
 * Duration of the first stall, in which the stall thread loads the protocol package. It is shorter than a session of 6
 * s, because on a busy machine, a session may time out before the package is loaded.
 */
const WARM_UP_STALL_MS = 3_000
/** Duration of a stall. It exceeds the session timeout of the test brokers, 6 s. */
const LONGER_THAN_A_SESSION_MS = 10_000
const SHORT_TOLERANCE_MS = 3_000
const LONGER_THAN_TOLERANCE_AND_SESSION_MS = 15_000

/** Returns the number of partitions of each member, by member id. */
async function owners(transport: Transport, topology: string): Promise<Map<string, number>> {
  const group = transport.memberlessGroup(topology)
  try {
    return new Map((await group.members()).map(({ memberId, partitions }) => [memberId, partitions.length]))
  } finally {
    await group.close()
  }
}

async function stopped({ child, exited }: WorkerProcess): Promise<{ fences: number; stalls: number }> {
  if (child.stdout === null) throw new Error('the output of the worker is not read')
  const output = text(child.stdout)
  child.kill('SIGTERM')
  await exited
  return JSON.parse((await output).trim().split('\n').at(-1) ?? '')
}

test(
  'a worker whose event loop is blocked for 10 s stays in its group, whose sessions time out after 6 s, and commits',
  AT_FIRST_TRY,
  async () => {
    const bench = await wordBench(brokers)
    const blocks = [
      { word: 'brief', ms: WARM_UP_STALL_MS },
      { word: 'blocked', ms: LONGER_THAN_A_SESSION_MS },
    ]
    const worker = bench.spawn({ blocks })
    await worker.ready
    await bench.send([WARM_UP_LINE])
    await bench.complete()
    await bench.send(authorLines(100, 1))
    await bench.complete()
    await bench.send([BLOCKING_LINE])
    await bench.complete()
    expect(await bench.output()).toEqual(exactCounts(bench.expected))
    const { fences, stalls } = await stopped(worker)
    expect(fences).toBe(0)
    // The brief stall may not be counted, because the thread may have connected too late to send a heartbeat during it.
    expect(stalls).toBeGreaterThanOrEqual(1)
  },
)

test('a worker that is blocked beyond the tolerance loses its partitions, and no record is lost or duplicated', AT_FIRST_TRY, async () => {
  const bench = await wordBench(brokers)
  const blocks = [{ word: 'blocked', ms: LONGER_THAN_TOLERANCE_AND_SESSION_MS }]
  const stalling = bench.spawn({ blocks, stallToleranceMs: SHORT_TOLERANCE_MS })
  await stalling.ready
  const [stallingId] = (await owners(bench.transport, bench.topology)).keys()
  await bench.send([BLOCKING_LINE])
  const heir = bench.spawn({ folder: join(bench.folder.path, 'heir') })
  const isMember = async () => (await owners(bench.transport, bench.topology)).has(stallingId)
  await waitUntil(async () => !(await isMember()), { what: 'the group drops the stalled worker', timeoutMs: DEADLINE_MS })
  await heir.ready
  await bench.send(authorLines(100, 1))
  await bench.complete()
  expect(await bench.output()).toEqual(exactCounts(bench.expected))
  await waitUntil(isMember, { what: 'the stalled worker joins again', timeoutMs: DEADLINE_MS })
  expect((await stopped(stalling)).fences).toBe(1)
})
