import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { partitionKey, type Transport } from '../../../../kafka/transport.ts'
import { connected, flatten, newProducer, type ReadRecord } from '../../../kafka/client/harness.ts'
import { type GuardedFolder, guardedFolder } from '../../../stack/folder.ts'
import { uniqueName } from '../../../stack/index.ts'
import type { WorkerArguments } from './worker-process.ts'

export const DEADLINE_MS = 40_000
const READ_POLL_MS = 200
const WORKER = join(import.meta.dirname, 'worker-process.ts')

/** The topics and workers of one word-count topology on a real broker. */
export interface WordBench {
  readonly transport: Transport
  readonly topology: string
  readonly lines: string
  readonly counts: string
  /** Sends lines, keyed by author, and adds their words to `expected`. */
  send(lines: readonly (readonly [author: string, line: string])[]): Promise<void>
  /** Number of times that each word was sent. */
  readonly expected: ReadonlyMap<string, number>
  /** Returns all committed counts of each word, in order. */
  output(): Promise<Map<string, number[]>>
  /** Waits until the output contains a count for each word that was sent. */
  complete(): Promise<void>
  /** Starts a worker process. The process is killed when the test ends. */
  spawn(options?: Partial<WorkerArguments>): WorkerProcess
  readonly folder: GuardedFolder
}

export interface WorkerProcess {
  readonly child: ChildProcess
  readonly exited: Promise<NodeJS.Signals | number | null>
  readonly ready: Promise<void>
}

const SOURCE_PARTITIONS = 2

export async function wordBench(brokers: string): Promise<WordBench> {
  const transport = await connected(brokers)
  const topology = uniqueName('words')
  const lines = uniqueName('lines')
  const counts = uniqueName('counts')
  const folder = guardedFolder()
  const expected = new Map<string, number>()
  const specs = [lines, counts].map((name) => ({ name, partitions: SOURCE_PARTITIONS }))
  await transport.ensureTopics(specs)
  const producer = await newProducer(transport)

  const reader = await topicReader(transport, counts, SOURCE_PARTITIONS)

  async function output(): Promise<Map<string, number[]>> {
    const found = new Map<string, number[]>()
    for (const { key, value } of await reader.all()) {
      const list = found.get(key ?? '') ?? []
      list.push(Number(value))
      found.set(key ?? '', list)
    }
    return found
  }

  return {
    transport,
    topology,
    lines,
    counts,
    folder,
    expected,
    output,
    async send(records) {
      for (const [author, line] of records) {
        const key = Buffer.from(author)
        const value = Buffer.from(line)
        const partition = partitionFor(key, SOURCE_PARTITIONS)
        producer.appender(lines, partition).append(Date.now(), key, 0, key.length, value, 0, value.length)
        for (const word of line.split(' ')) expected.set(word, (expected.get(word) ?? 0) + 1)
      }
      await producer.commit(new Map(), undefined)
    },
    async complete() {
      const total = [...expected.values()].reduce((sum, count) => sum + count, 0)
      await waitUntil(
        async () => {
          const out = [...(await output()).values()].reduce((sum, list) => sum + list.length, 0)
          if (out < total) throw new Error(`${out} of ${total} counts`)
          return true
        },
        { what: 'all words counted', timeoutMs: DEADLINE_MS, intervalMs: 200 },
      )
    },
    spawn: (options = {}) =>
      spawnWorker(folder, {
        brokers,
        kind: 'words',
        topology,
        input: lines,
        output: counts,
        folder: join(folder.path, 'state'),
        ...options,
      }),
  }
}

/** Creates a reader of a topic's committed records. Each read continues where the previous one stopped. */
export async function topicReader(transport: Transport, topic: string, partitions: number) {
  const fetcher = transport.fetcher({ maxWaitMs: 20 })
  onTestFinished(() => fetcher.close())
  const assigned = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
  for (const partition of assigned) fetcher.assign(partition, 0, 'fail')
  const records: ReadRecord[] = []
  return {
    /** Reads up to the current end of the log, and returns all records so far. */
    async all(): Promise<readonly ReadRecord[]> {
      const ends = await transport.offsets(assigned, 'end')
      const behind = () => assigned.some((each) => (fetcher.position(each) ?? 0) < (ends.get(partitionKey(topic, each.partition)) ?? 0))
      await waitUntil(
        async () => {
          if (behind()) records.push(...flatten(await fetcher.poll(READ_POLL_MS)))
          return !behind()
        },
        { what: `the end of ${topic}`, timeoutMs: DEADLINE_MS, intervalMs: 1 },
      )
      return records
    },
  }
}

/** Starts a worker process whose working directory is the given folder. The process is killed when the test ends. */
export function spawnWorker(folder: GuardedFolder, given: WorkerArguments): WorkerProcess {
  const child = spawn(process.execPath, [WORKER, JSON.stringify(given)], { cwd: folder.path, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const exited = new Promise<NodeJS.Signals | number | null>((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('exit', (code, signal) => reject(new Error(`the worker ended (${signal ?? code}) before it was ready`)))
  })
  ready.catch(() => {}) // Prevents an unhandled rejection in tests that do not wait for `ready`.
  return { child, exited, ready }
}

/** Returns the words whose counts so far are not 1, 2, 3 and so on. */
export function broken(output: ReadonlyMap<string, readonly number[]>): string[] {
  return [...output].filter(([, counts]) => counts.some((count, i) => count !== i + 1)).map(([word]) => word)
}

/**
 * Returns the output that is expected without loss or duplicates: the counts 1 to n for a word that was sent n times.
 */
export function exactCounts(expected: ReadonlyMap<string, number>): Map<string, number[]> {
  return new Map([...expected].map(([word, count]) => [word, Array.from({ length: count }, (_, i) => i + 1)]))
}

export function authorLines(count: number, seed: number): [string, string][] {
  return Array.from({ length: count }, (_, i) => [`author-${(i * 7 + seed) % 13}`, `w${(i * seed) % 11} w${i % 5} all`])
}
