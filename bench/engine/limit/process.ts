/**
 * Runs a loop without an engine as a contender, to show the limit of one core. The loop fetches and decodes records,
 * updates a Map, and produces the results in one transaction per commit interval. Like the programs of the peers, this
 * program reads the environment variables of the peers' run.sh and reports its first record.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { kafkaTransport } from '../../../kafka/client/index.ts'
import { type OffsetToCommit, partitionKey, type RecordAppender } from '../../../kafka/transport.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { workerEnvironment } from '../config.ts'
import { PARTITIONS } from '../job.ts'
import { type Emit, LOOP_JOBS } from './loop-jobs.ts'

const POLL_MS = 20
const JOIN_POLL_MS = 10
const STDERR = 2
/**
 * Size at which output is flushed. Flushing before the commit lets the broker work while the loop processes records, as
 * in the engine.
 */
const FLUSH_BYTES = 1_048_576

const { job, brokers, input, output, group, commitIntervalMs, compression } = workerEnvironment()
const newJob = LOOP_JOBS[job]
if (newJob === undefined) throw new Error(`the limit cannot be measured for job ${job}: choose J1 or J2`)
const runtime = systemRuntime(pino({ level: 'warn' }, pino.destination(STDERR)))
const transport = kafkaTransport({ brokers: [brokers], clientId: group }, { runtime })
await transport.connect()
const member = transport.groupMember({ groupId: group, memberId: randomUUID(), topics: [input] })
const producer = transport.producer({ transactionalId: group, compression })
await producer.init()
await member.join()
const fetcher = transport.fetcher()

function emitterOf(appender: RecordAppender): Emit {
  return (time, key, keyEnd, value, valueEnd) => appender.append(time, key, 0, keyEnd, value, 0, valueEnd)
}

const partitions = Array.from({ length: PARTITIONS }, (_, partition) => ({
  job: newJob(),
  emit: emitterOf(producer.appender(output, partition)),
}))

let isStopping = false
process.on('SIGTERM', () => {
  isStopping = true
  fetcher.wake()
})
while (!isStopping) {
  const event = member.takeEvent()
  if (event?.type === 'assignment' && event.partitions.length === PARTITIONS) {
    member.acknowledge(event.partitions)
    for (const partition of event.partitions) fetcher.assign(partition, 0, 'fail')
    break
  }
  await delay(JOIN_POLL_MS)
}

let offsets = new Map<string, OffsetToCommit>()
let committing: Promise<unknown> | undefined
let started = false
let nextCommit = performance.now() + commitIntervalMs

/** Commits a transaction. As in the engine, further records are processed while a commit is in flight. */
async function commit(): Promise<void> {
  await committing
  for (const { job: own, emit } of partitions) own.beforeCommit(emit)
  committing = producer.commit(offsets, member).finally(() => {
    committing = undefined
  })
  offsets = new Map()
  nextCommit = performance.now() + commitIntervalMs
}

while (!isStopping) {
  for (const { topic, partition, chunks, nextOffset } of await fetcher.poll(POLL_MS)) {
    const { job: own, emit } = partitions[partition]
    for (const { buffer, count, timestamps, keyStart, keyEnd, valueStart, valueEnd } of chunks) {
      if (!started) process.stdout.write(`FIRST_RECORD ${Date.now()}\n`)
      started = true
      for (let i = 0; i < count; i++) own.record(buffer, keyStart[i], keyEnd[i], valueStart[i], valueEnd[i], timestamps[i], emit)
    }
    offsets.set(partitionKey(topic, partition), { topic, partition, offset: nextOffset })
  }
  if (offsets.size > 0 && performance.now() >= nextCommit) await commit()
  else if (committing === undefined && producer.pendingBytes >= FLUSH_BYTES) void producer.flushFull()
}
await committing
await member.leave()
await transport.close()
