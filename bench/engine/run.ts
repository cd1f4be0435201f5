/**
 * `npm run bench:engine`: job J2 of the peers on the engine, exactly once, one worker process, against a broker of its own
 * (or KAFKA_BROKERS). Every output is verified. Variables: see config.ts. Linux only: times and memory come from /proc.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import type { Component } from '../../deploy/local/component.ts'
import { kafkaBroker } from '../../deploy/local/kafka/broker.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { kafkaTransport } from '../../kafka/client/index.ts'
import type { Transport } from '../../kafka/transport.ts'
import { type BenchConfig, benchConfig } from './config.ts'
import { loadPayments } from './load.ts'
import { measureRun, type RunFigures } from './measure.ts'
import { type Payments, readPayments } from './payments.ts'
import { describeMachine } from './process-stats.ts'
import { PARTITIONS } from './topology.ts'
import { verifyOutput } from './verify.ts'

const HEAP_MB = 512
const STDERR = 2
const RESULTS = fileURLToPath(new URL('../results.md', import.meta.url))
/** Stands behind the last row of this benchmark's table. */
const TABLE_END = '<!-- rows of bench:engine end here -->'

interface Column {
  readonly title: string
  readonly digits: number
  readonly of: (run: RunFigures) => number
}

const COLUMNS: readonly Column[] = [
  { title: 'records/s', digits: 0, of: (run) => run.recordsPerSecond },
  { title: 'warm', digits: 0, of: (run) => run.warmRecordsPerSecond },
  { title: 'CPU s/M', digits: 2, of: (run) => run.cpu },
  { title: 'warm', digits: 2, of: (run) => run.warmCpu },
  { title: 'broker CPU s/M', digits: 2, of: (run) => run.brokerCpu },
  { title: 'peak RSS MiB', digits: 0, of: (run) => run.peakRssMib },
  { title: 'start s', digits: 2, of: (run) => run.startSeconds },
  { title: 'others CPU s', digits: 2, of: (run) => run.otherCpuSeconds },
]

const say = (text: string) => process.stdout.write(`${text}\n`)
const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
const cells = (of: (column: Column) => number) => COLUMNS.map((column) => of(column).toFixed(column.digits))
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]

function keep(line: string): void {
  const text = readFileSync(RESULTS, 'utf8')
  if (!text.includes(TABLE_END)) throw new Error(`${RESULTS} has no line ${TABLE_END}`)
  writeFileSync(RESULTS, text.replace(TABLE_END, `${line}\n${TABLE_END}`))
}

async function startBroker(folder: string, home: string): Promise<Component> {
  const broker = kafkaBroker({
    name: 'kafka',
    ports: { client: await freePort(), controller: await freePort() },
    dataDir: join(folder, 'kafka'),
    runDir: join(folder, 'run'),
    logFile: join(folder, 'kafka.log'),
    toolsDir: join(home, 'tools'),
    heapMb: HEAP_MB,
  })
  await broker.start()
  return broker
}

async function oneRun(
  config: BenchConfig,
  place: { readonly brokers: string; readonly brokerPid: number | undefined; readonly folder: string; readonly input: string },
  transport: Transport,
  payments: Payments,
): Promise<RunFigures> {
  const group = `bench-j2-${randomUUID().slice(0, 8)}`
  const output = `${group}-out`
  await transport.ensureTopics([{ name: output, partitions: PARTITIONS, config: { 'retention.ms': '-1' } }])
  const worker = {
    brokers: place.brokers,
    input: place.input,
    output,
    group,
    stateDir: join(place.folder, group),
    guarantee: 'exactly-once' as const,
    commitIntervalMs: config.commitIntervalMs,
  }
  const figures = await measureRun(worker, payments.count, { brokerPid: place.brokerPid, nodeArguments: config.nodeArguments })
  const verdict = await verifyOutput(transport, output, payments)
  if (verdict !== 'ok') throw new Error(`the output is wrong: ${verdict}`)
  return figures
}

async function main(): Promise<void> {
  const config = benchConfig()
  const log = pino({ level: 'warn' }, pino.destination(STDERR))
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  const broker = config.brokers === undefined ? await startBroker(folder, config.home) : undefined
  const brokers = config.brokers ?? (broker as Component).address
  const transport = kafkaTransport({ brokers: [brokers], clientId: 'bench' }, { clock: { now: Date.now }, log })
  try {
    await transport.connect()
    const payments = readPayments(config.dataDir, config.records)
    const input = `bench-j2-in-${randomUUID().slice(0, 8)}`
    await loadPayments(transport, input, payments)
    say(`J2, ${payments.count} records in ${PARTITIONS} partitions, exactly once, a commit every ${config.commitIntervalMs} ms`)
    say(describeMachine())
    say(row(['run', ...COLUMNS.map((column) => column.title)]))
    say(row(['---', ...COLUMNS.map(() => '--:')]))
    const runs: RunFigures[] = []
    for (let number = 1; number <= config.runs; number++) {
      const figures = await oneRun(config, { brokers, brokerPid: broker?.pid, folder, input }, transport, payments)
      runs.push(figures)
      say(row([String(number), ...cells((column) => column.of(figures))]))
    }
    const medians = cells((column) => median(runs.map(column.of)))
    say(row(['median', ...medians]))
    say('every field of every output record is right (read_committed)')
    if (config.note !== undefined) keep(row([new Date().toISOString().slice(0, 10), config.note, ...medians]))
  } finally {
    await transport.close()
    await broker?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

await main()
