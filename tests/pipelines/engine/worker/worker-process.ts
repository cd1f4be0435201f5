/**
 * A worker process of the word count or the election, for tests that kill it: `node worker-process.ts <json>`. With
 * `kill`, it kills itself with SIGKILL when its commit number `kill.commit` reaches `kill.step`. Prints `ready` on
 * standard output once its tasks are running, and its numbers of fences and stalls when it stops.
 */
import { mkdirSync } from 'node:fs'
import { pino } from 'pino'
import { kafkaTransport } from '../../../../kafka/client/index.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import type { CommitFaultPoint } from '../../../../pipelines/engine/worker/commit.ts'
import { memberIdentity } from '../../../../pipelines/engine/worker/member-identity.ts'
import { createWorker } from '../../../../pipelines/engine/worker/worker.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { openRocksdbBackend } from '../../../../state/stores/rocksdb-backend.ts'
import { numberTopic, textTopic, wordCount } from '../words.ts'
import { election } from './election.ts'

export interface WorkerArguments {
  readonly brokers: string
  readonly kind: 'words' | 'election'
  readonly topology: string
  readonly input: string
  readonly output: string
  readonly folder: string
  readonly standby?: 0 | 1
  readonly guarantee?: 'exactly-once' | 'at-least-once'
  readonly kill?: { readonly step: CommitFaultPoint; readonly commit: number }
  /** Blocks of the event loop. Each begins at the first line that contains `word`, and lasts `ms` milliseconds. */
  readonly blocks?: readonly { readonly word: string; readonly ms: number }[]
  readonly stallToleranceMs?: number
  readonly logLevel?: string
}

const given = JSON.parse(process.argv[2]) as WorkerArguments
const log = pino({ level: given.logLevel ?? 'silent' })
let passed = 0

function fault(step: CommitFaultPoint): void {
  if (step !== given.kill?.step) return
  passed++
  if (passed === given.kill.commit) process.kill(process.pid, 'SIGKILL')
}

const pendingBlocks = new Map(given.blocks?.map(({ word, ms }) => [word, ms]))

function blockOnce(line: string): void {
  for (const [word, ms] of pendingBlocks) {
    if (!line.includes(word)) continue
    pendingBlocks.delete(word)
    const until = performance.now() + ms
    while (performance.now() < until);
  }
}

mkdirSync(given.folder, { recursive: true })
const backend = await openRocksdbBackend({ folder: given.folder })
const transport = kafkaTransport(
  { brokers: [given.brokers], clientId: 'word-worker', stallToleranceMs: given.stallToleranceMs },
  { runtime: systemRuntime(log) },
)
await transport.connect()
const topology =
  given.kind === 'words'
    ? wordCount(
        given.topology,
        { lines: textTopic(given.input), wordCounts: numberTopic(given.output) },
        { standby: given.standby },
        blockOnce,
      )
    : election({ name: given.topology, topics: { votes: numberTopic(given.input), results: numberTopic(given.output) } })
const worker = createWorker(
  { topology, guarantee: given.guarantee },
  {
    transport,
    registry: memoryRegistry(),
    backend,
    identity: memberIdentity(given.folder, given.topology),
    runtime: systemRuntime(log),
    fault,
  },
)
process.once('SIGTERM', () => void worker.stop())
await worker.start()
const ready = setInterval(() => {
  if (!worker.status().ready) return
  clearInterval(ready)
  process.stdout.write('ready\n')
}, 10)
try {
  await worker.done
  const { fences, stalls } = worker.status()
  process.stdout.write(`${JSON.stringify({ fences, stalls })}\n`)
} finally {
  clearInterval(ready)
  await transport.close()
  await backend.close()
}
