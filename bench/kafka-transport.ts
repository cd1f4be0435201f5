/**
 * Measures the throughput of the Kafka transport alone, without an engine or state. See kafka-transport.command.ts.
 *
 * Jobs: `produce` fills a topic of 4 partitions with records of 200 bytes. `consume` reads these records with
 * read_committed and accesses each of them. `read-process-write` reads the records and, for each of them, writes two
 * records of 36 bytes, with exactly-once processing and a commit every 100 ms. The program prints JSON lines with the
 * records per second, and the CPU seconds of this process per million records. It restarts itself with the flags of
 * kafka/client/heap-flags.ts.
 */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { BUFFER_HEAP_FLAGS } from '../kafka/client/heap-flags.ts'
import { kafkaTransport } from '../kafka/client/index.ts'
import type { OffsetToCommit, Transport } from '../kafka/transport.ts'
import { partitionKey } from '../kafka/transport.ts'
import { systemRuntime } from '../runtime/system.ts'
import { commandLine, runMain } from '../scripts/command-line/main.ts'
import { quantile } from './harness/table.ts'
import declaration from './kafka-transport.command.ts'

const PARTITIONS = 4
const KEY_BYTES = 16
const VALUE_BYTES = 184
const OUTPUT_VALUE_BYTES = 20
const COMMIT_INTERVAL_MS = 100
const POLL_MS = 1_000
const ROUNDS = 5
/** Number of records per transaction while the input is written. */
const FILL_TRANSACTION_RECORDS = 50_000

const { BROKERS: brokers, RECORDS: records } = commandLine(declaration)

if (!BUFFER_HEAP_FLAGS.every((flag) => process.execArgv.includes(flag))) {
  const { status } = spawnSync(process.execPath, [...process.execArgv, ...BUFFER_HEAP_FLAGS, ...process.argv.slice(1)], {
    stdio: 'inherit',
  })
  process.exit(status ?? 1)
}

const run = randomUUID().slice(0, 8)
const input = `bench-in-${run}`
const outputs = [`bench-out-a-${run}`, `bench-out-b-${run}`]

function report(job: string, count: number, startedMs: number, cpu: NodeJS.CpuUsage, extra: object = {}): void {
  const seconds = (performance.now() - startedMs) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const cpuPerMillion = (user + system) / count
  process.stdout.write(
    `${JSON.stringify({ job, records: count, perSecond: Math.round(count / seconds), cpuSecondsPerMillion: Number(cpuPerMillion.toFixed(3)), ...extra })}\n`,
  )
}

async function fill(transport: Transport): Promise<void> {
  const producer = transport.producer({ transactionalId: `bench-fill-${run}` })
  await producer.init()
  const value = Buffer.alloc(VALUE_BYTES, 'v')
  const started = performance.now()
  const cpu = process.cpuUsage()
  for (let i = 0; i < records; i++) {
    const key = Buffer.from(String(i).padStart(KEY_BYTES, '0'))
    producer.appender(input, i % PARTITIONS).append(Date.now(), key, 0, KEY_BYTES, value, 0, VALUE_BYTES)
    if ((i + 1) % FILL_TRANSACTION_RECORDS === 0) await producer.commit(new Map(), undefined)
  }
  await producer.commit(new Map(), undefined)
  report('produce', records, started, cpu)
  await producer.close()
}

async function consume(transport: Transport): Promise<void> {
  const fetcher = transport.fetcher()
  const started = performance.now()
  const cpu = process.cpuUsage()
  let count = 0
  let bytes = 0
  for (let partition = 0; partition < PARTITIONS; partition++) fetcher.assign({ topic: input, partition }, 0, 'fail')
  while (count < records) {
    for (const { chunks } of await fetcher.poll(POLL_MS)) {
      for (const chunk of chunks) {
        for (let i = 0; i < chunk.count; i++) bytes += chunk.valueEnd[i] - chunk.valueStart[i] + chunk.buffer[chunk.keyStart[i]]
        count += chunk.count
      }
    }
  }
  report('consume', count, started, cpu, { checked: bytes })
  await fetcher.close()
}

async function readProcessWrite(transport: Transport): Promise<void> {
  const member = transport.groupMember({ groupId: `bench-${randomUUID()}`, memberId: randomUUID(), topics: [input] })
  const producer = transport.producer({ transactionalId: `bench-rpw-${run}` })
  await producer.init()
  await member.join()
  const fetcher = transport.fetcher()
  const appenders = outputs.map((topic) => Array.from({ length: PARTITIONS }, (_, partition) => producer.appender(topic, partition)))
  const commits: number[] = []
  let offsets = new Map<string, OffsetToCommit>()
  let count = 0
  while (count === 0 || fetcher.position({ topic: input, partition: 0 }) === undefined) {
    const event = member.takeEvent()
    if (event?.type === 'assignment' && event.partitions.length === PARTITIONS) {
      member.acknowledge(event.partitions)
      for (const partition of event.partitions) fetcher.assign(partition, 0, 'fail')
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  const started = performance.now()
  const cpu = process.cpuUsage()
  let nextCommit = started + COMMIT_INTERVAL_MS
  while (count < records) {
    for (const { topic, partition, chunks, nextOffset } of await fetcher.poll(POLL_MS)) {
      for (const chunk of chunks) {
        const { buffer, timestamps, keyStart, keyEnd, valueStart } = chunk
        for (const output of appenders) {
          const target = output[partition]
          for (let i = 0; i < chunk.count; i++)
            target.append(timestamps[i], buffer, keyStart[i], keyEnd[i], buffer, valueStart[i], valueStart[i] + OUTPUT_VALUE_BYTES)
        }
        count += chunk.count
      }
      offsets.set(partitionKey(topic, partition), { topic, partition, offset: nextOffset })
    }
    if (performance.now() >= nextCommit || count >= records) {
      const before = performance.now()
      await producer.commit(offsets, member)
      commits.push(performance.now() - before)
      offsets = new Map()
      nextCommit = performance.now() + COMMIT_INTERVAL_MS
    } else void producer.flushFull()
  }
  commits.sort((a, b) => a - b)
  const percentile = (share: number) => Number(quantile(commits, share).toFixed(1))
  report('read-process-write', count, started, cpu, {
    outputs: outputs.length,
    commits: commits.length,
    commitP50Ms: percentile(0.5),
    commitP99Ms: percentile(0.99),
  })
  await fetcher.close()
  await member.leave()
  await producer.close()
}

async function main(): Promise<void> {
  const transport = kafkaTransport({ brokers: [brokers], clientId: 'bench' }, { runtime: systemRuntime(pino({ level: 'warn' })) })
  await transport.connect()
  await transport.ensureTopics([input, ...outputs].map((name) => ({ name, partitions: PARTITIONS })))
  await fill(transport)
  for (let round = 0; round < ROUNDS; round++) await consume(transport)
  for (let round = 0; round < ROUNDS; round++) await readProcessWrite(transport)
  await transport.close()
}

await runMain(main)
