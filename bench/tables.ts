/**
 * `npm run bench:tables`: compares a packed table with a Map that has the same entries. A transport in this process
 * generates the records, so that the results exclude the cost of a broker.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { type Packing, packedTable } from '../api/kit/packed/packed-table.ts'
import { diskFiles } from '../api/kit/spool/files.ts'
import { type PartitionData, partitionKey, type Transport } from '../kafka/transport.ts'
import type { Codec } from '../schemas/codec.ts'
import { utf8 } from '../schemas/keys.ts'
import { rawValue } from '../schemas/raw.ts'
import type { Topic } from '../schemas/topic.ts'
import { commandLine, runMain } from '../scripts/command-line/main.ts'
import { inFolder } from './harness/folder.ts'
import declaration from './tables.command.ts'

const { ENTRIES: count } = commandLine(declaration)
const RECORDS_PER_POLL = 5_000
const LOOKUPS = 1_000_000
const ID_DIGITS = 16
/** Prefix of keys. It makes the keys as long as the keys of devices in a blocklist. */
const PREFIX = 'DEVICE:'
const TOPIC_ID = '00000000-0000-0000-0000-000000000001'
const KEY_BYTES = PREFIX.length + ID_DIGITS
const VALUE_BYTES = 12
const NEVER_EXPIRES = 4_102_444_800_000
const MS_PER_NS = 1e-6
const MIB = 1_048_576
/** Prints only errors. A table retries after an error, so an error that is not visible would look like a slow start. */
const log = {
  debug() {},
  info() {},
  warn() {},
  error: (fields: object, event: string) => void process.stderr.write(`${event}: ${JSON.stringify(fields)}\n`),
  child: () => log,
}

interface Entry {
  readonly reason: number
  readonly expiresAt: number
}

const entryCodec: Codec<Entry> = {
  encode() {
    throw new Error('unexpected: the benchmark provides encoded bytes, so nothing needs to be encoded')
  },
  decode: (buffer, start) => ({ reason: buffer.readUInt32LE(start), expiresAt: buffer.readDoubleLE(start + 4) }),
}
const topic: Topic<string, Entry> = { name: 'bench', key: utf8, value: rawValue(entryCodec), partitions: 1 }
const packing: Packing<Entry, number> = {
  version: 1,
  bytes: 4,
  pack: ({ reason }, view, at) => view.setUint32(at, reason, true),
  unpack: (view, at) => view.getUint32(at, true),
  expiresAt: ({ expiresAt }) => expiresAt,
}

const keyOf = (index: number) => PREFIX + index.toString(16).padStart(ID_DIGITS, '0')

/** Returns up to RECORDS_PER_POLL records, beginning with the record `from`, in the form of a fetch response. */
function recordsFrom(from: number): PartitionData {
  const records = Math.max(0, Math.min(RECORDS_PER_POLL, count - from))
  const buffer = Buffer.allocUnsafe(records * (KEY_BYTES + VALUE_BYTES))
  const at = (index: number, offset: number) => index * (KEY_BYTES + VALUE_BYTES) + offset
  for (let index = 0; index < records; index++) {
    buffer.write(keyOf(from + index), at(index, 0), 'latin1')
    buffer.writeUInt32LE(from + index, at(index, KEY_BYTES))
    buffer.writeDoubleLE(NEVER_EXPIRES, at(index, KEY_BYTES + 4))
  }
  const column = (offset: number) => Int32Array.from({ length: records }, (_, index) => at(index, offset))
  const chunk = {
    topic: topic.name,
    partition: 0,
    buffer,
    count: records,
    offsets: Float64Array.from({ length: records }, (_, index) => from + index),
    timestamps: new Float64Array(records),
    keyStart: column(0),
    keyEnd: column(KEY_BYTES),
    valueStart: column(KEY_BYTES),
    valueEnd: column(KEY_BYTES + VALUE_BYTES),
    headerStart: new Int32Array(records).fill(-1),
  }
  const ends = { nextOffset: from + records, highWatermark: count, lastStableOffset: count, fetchedAt: Date.now() }
  return { topic: topic.name, partition: 0, chunks: records === 0 ? [] : [chunk], ...ends }
}

/** Returns a transport whose only topic contains all entries. */
function madeTransport(): Transport {
  const offsets = async (_: unknown, end: string) => new Map([[partitionKey(topic.name, 0), end === 'end' ? count : 0]])
  let position = 0
  const fetcher = () => ({
    assign(_: unknown, offset: number) {
      position = offset
    },
    async poll() {
      if (position >= count) await new Promise((resolve) => setTimeout(resolve, 10))
      const data = recordsFrom(position)
      position = data.nextOffset
      return [data]
    },
    wake() {},
    async close() {},
  })
  const partitionCounts = async () => new Map([[topic.name, 1]])
  const topicIds = async () => new Map([[topic.name, TOPIC_ID]])
  return { partitionCounts, topicIds, offsets, fetcher } as unknown as Transport
}

/** Returns the CPU time of this process in seconds. Other processes affect CPU time less than wall-clock time. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

async function seconds(run: () => Promise<unknown> | unknown): Promise<number> {
  const start = cpuSeconds()
  await run()
  return cpuSeconds() - start
}

function print(what: string, figure: string): void {
  process.stdout.write(`${figure.padStart(16)}  ${what}\n`)
}

async function open(folder: string) {
  const table = await packedTable({
    transport: madeTransport(),
    topic,
    values: entryCodec,
    packing,
    loadSchema: async () => 'not-found',
    log,
    now: Date.now,
    monotonic: () => performance.now(),
    snapshots: { folder, files: diskFiles },
  })
  while ((await table.probes[0].check()) !== undefined) await new Promise((resolve) => setTimeout(resolve, 1))
  return table
}

/**
 * Looks up keys in a scattered order. Returns the CPU time per lookup in µs.
 * @param first index of the first key in the range of `count` keys from which the keys are taken
 * @param isThere whether the keys have entries
 * @throws Error when a lookup contradicts `isThere`
 */
function lookups(get: (key: string) => unknown, first: number, isThere: boolean): number {
  const keys = Array.from({ length: LOOKUPS }, (_, index) => keyOf(first + ((Math.imul(index, 2_654_435_761) >>> 0) % count)))
  const start = cpuSeconds()
  for (const key of keys) if ((get(key) !== undefined) !== isThere) throw new Error(`wrong answer for ${key}`)
  return ((cpuSeconds() - start) * 1e6) / LOOKUPS
}

async function benchPacked(folder: string): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const before = process.memoryUsage().rss
  const recordSeconds = await seconds(() => {
    for (let from = 0; from < count; from += RECORDS_PER_POLL) recordsFrom(from)
  })
  delay.enable()
  let table!: Awaited<ReturnType<typeof open>>
  const loadSeconds = await seconds(async () => {
    table = await open(folder)
  })
  delay.disable()
  print('packed: reading the topic, excluding the generation of the records', `${(loadSeconds - recordSeconds).toFixed(1)} s`)
  print('packed: longest pause of the event loop while reading', `${(delay.max * MS_PER_NS).toFixed(1)} ms`)
  print('packed: memory per entry', `${(table.bytes / table.size).toFixed(1)} bytes`)
  print('packed: growth of the resident memory, including garbage', `${((process.memoryUsage().rss - before) / MIB).toFixed(0)} MiB`)
  print('packed: lookup of a present key', `${lookups(table.get, 0, true).toFixed(2)} µs`)
  print('packed: lookup of an absent key', `${lookups(table.get, count, false).toFixed(2)} µs`)
  // The lookups have blocked the event loop for so long that the table counts as stale, and a stale table writes no
  // snapshot. Wait until it is fresh again.
  while (table.isStale) await new Promise((resolve) => setTimeout(resolve, 1))
  print('packed: snapshot written', `${(await seconds(table.close)).toFixed(1)} s`)
  delay.reset()
  delay.enable()
  print('packed: start from the snapshot', `${(await seconds(async () => (table = await open(folder)))).toFixed(1)} s`)
  delay.disable()
  print('packed: longest pause of the event loop during this start', `${(delay.max * MS_PER_NS).toFixed(1)} ms`)
  await table.close()
}

function benchMap(): void {
  const before = process.memoryUsage().heapUsed
  const map = new Map<string, readonly [string, Entry]>()
  const start = cpuSeconds()
  for (let from = 0; from < count; from += RECORDS_PER_POLL) {
    const { buffer, count: records, keyStart, keyEnd, valueStart, valueEnd } = recordsFrom(from).chunks[0]
    for (let index = 0; index < records; index++) {
      const key = buffer.toString('latin1', keyStart[index], keyEnd[index])
      map.set(key, [utf8.decode(buffer, keyStart[index], keyEnd[index]), entryCodec.decode(buffer, valueStart[index], valueEnd[index])])
    }
  }
  print('Map as in globalTable: filling, including the generation of the records', `${(cpuSeconds() - start).toFixed(1)} s`)
  print('Map: heap per entry, including garbage', `${((process.memoryUsage().heapUsed - before) / count).toFixed(0)} bytes`)
  print('Map: lookup of a present key', `${lookups((key) => map.get(key), 0, true).toFixed(2)} µs`)
}

await runMain(async () => {
  process.stdout.write(
    `The tables have ${count} entries with keys of ${KEY_BYTES} bytes, values that are packed to ${packing.bytes} bytes, and expiry times. All times except pauses are CPU times.\n`,
  )
  await inFolder(benchPacked)
  benchMap()
})
