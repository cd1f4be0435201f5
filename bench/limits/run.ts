/**
 * `npm run bench:limits`: measures decisions per second, their added latency and their accuracy on a separate Redis.
 * Compares the results with those of peers in the same run: rate-limiter-flexible, and envoyproxy/ratelimit if Go is
 * installed to build it. See run.command.ts.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { withStarted } from '../harness/folder.ts'
import { ROOT } from '../harness/node-process.ts'
import { describeMachine } from '../harness/process-stats.ts'
import { type BenchServers, startServers } from '../harness/servers.ts'
import { whereInstalled } from '../peer-missing.ts'
import { accuracyOf } from './accuracy.ts'
import { changesTable } from './changes.ts'
import { buildEnvoy, type EnvoyPeer, startEnvoy } from './envoy.ts'
import { faultTable } from './faults.ts'
import { leaseTable } from './lease-accuracy.ts'
import type { LoadOrder, LoadReport } from './load.ts'
import { matchingTable } from './matching.ts'
import { type ApplyRate, rateTable } from './rate.ts'
import declaration from './run.command.ts'
import { installedSubjects, type SubjectName } from './subjects.ts'

const run = promisify(execFile)
const LOAD = join(import.meta.dirname, 'load.ts')
const TOOLS = join(ROOT, '.millrace', 'tools')
const OUTPUT_BYTES = 256 * 1024 * 1024
const ENVOY = 'envoyproxy/ratelimit'
const IN_FLIGHT = 128
/** Rate at which latencies are compared, in requests per second. All subjects can sustain it. */
const SHARED_RATE = 5_000
const WARM_UP_SECONDS = 1
/** The limiter's production timeout (docs/services/limits.md#without-redis). */
const TIMEOUT_MS = 5
/**
 * Timeout in the tables of speed and rate, and in the first table of accuracy. It is long because the peers also wait
 * for an overloaded Redis. With the usual short timeout, Millrace would decide requests without Redis, and these would
 * count as decisions.
 */
const PATIENT_MS = 1_000

const { seconds, traffic: wanted = '', ...values } = commandLine(declaration)
const sections = new Set<string>(values.only)
const say = (text: string) => process.stdout.write(`${text}\n`)
let runs = 0

interface Traffic {
  readonly name: string
  readonly callers: number
  readonly limit: number
}

const TRAFFIC: readonly Traffic[] = [
  { name: '100,000 callers', callers: 100_000, limit: 1_000 },
  { name: '10 hot callers', callers: 10, limit: 10_000_000 },
  { name: 'one attacker', callers: 1, limit: 100 },
]

type Order = Omit<LoadOrder, 'redisUrl' | 'prefix' | 'subject' | 'warmUpSeconds'>

async function load(subject: SubjectName, redisUrl: string, order: Order, prefix: string): Promise<LoadReport> {
  const whole: LoadOrder = { ...order, subject, redisUrl, prefix, warmUpSeconds: WARM_UP_SECONDS }
  const { stdout } = await run(process.execPath, [LOAD, JSON.stringify(whole)], { maxBuffer: OUTPUT_BYTES })
  return JSON.parse(stdout) as LoadReport
}

/** Starts envoyproxy/ratelimit with one limit. */
type StartEnvoy = (limit: number, windowSeconds: number) => Promise<EnvoyPeer>

const nextPrefix = () => `b${++runs}:`
const ms = (value: number) => (value < 0.01 ? '< 0.01' : value.toFixed(2))
const thousands = (value: number) => Math.round(value).toLocaleString('en')

/** Applies the same load to one subject after another, except to the sliding log. */
async function compare(
  redisUrl: string,
  subjects: readonly SubjectName[],
  envoy: StartEnvoy | undefined,
  title: string,
  mode: LoadOrder['mode'],
  timeoutMs: number,
): Promise<void> {
  say(
    `\n### ${title}\n\n| traffic | subject | decisions/s | P50 ms | P99 ms | P99.9 ms | CPU µs per decision | undecided |\n|---|---|---|---|---|---|---|---|`,
  )
  for (const { name, callers, limit } of TRAFFIC.filter((traffic) => traffic.name.includes(wanted))) {
    const order: Order = { callers, limit, windowSeconds: 60, timeoutMs, seconds, mode, log: false }
    const row = (subject: string, report: LoadReport) => {
      const { decisions, p50Ms, p99Ms, p999Ms, cpuSeconds, undecided } = report
      const cpu = ((cpuSeconds / decisions) * 1e6).toFixed(1)
      say(
        `| ${name} | ${subject} | ${thousands(decisions / report.seconds)} | ${ms(p50Ms)} | ${ms(p99Ms)} | ${ms(p999Ms)} | ${cpu} | ${undecided} |`,
      )
    }
    for (const subject of subjects) if (subject !== 'sliding log') row(subject, await load(subject, redisUrl, order, nextPrefix()))
    if (envoy !== undefined) row(ENVOY, await withEnvoy(envoy, limit, 60, (peer) => peer.load(envoyOrder(order, redisUrl))))
  }
}

function envoyOrder(order: Order, redisUrl: string): LoadOrder {
  return { ...order, subject: 'flexible', redisUrl, prefix: nextPrefix(), warmUpSeconds: WARM_UP_SECONDS }
}

async function withEnvoy<T>(start: StartEnvoy, limit: number, window: number, use: (peer: EnvoyPeer) => Promise<T>): Promise<T> {
  const peer = await start(limit, window)
  try {
    return await use(peer)
  } finally {
    peer.stop()
  }
}

/**
 * Measures the accuracy for one caller that sends twice its limit through one or more processes. Only the first table
 * includes the peers, because they have no timeout for Redis.
 */
async function accuracy(redisUrl: string, subjects: readonly SubjectName[], envoy: StartEnvoy | undefined): Promise<void> {
  await accuracyTable(redisUrl, `timeout of ${PATIENT_MS} ms for Redis`, PATIENT_MS, subjects, envoy)
  await accuracyTable(
    redisUrl,
    `timeout of ${TIMEOUT_MS} ms for Redis, as in production`,
    TIMEOUT_MS,
    ['millrace', 'millrace, leases'],
    undefined,
  )
}

async function accuracyTable(
  redisUrl: string,
  patience: string,
  timeoutMs: number,
  subjects: readonly SubjectName[],
  envoy: StartEnvoy | undefined,
): Promise<void> {
  const [limit, windowSeconds, runSeconds] = [2_000, 1, 5]
  say(`\n### Accuracy: one caller sends twice its limit of ${limit} requests in ${windowSeconds} s, for ${runSeconds} s; ${patience}`)
  say(
    '\n| subject | processes | admitted per window, relative to the limit | maximum in any window-long period, relative to the limit | undecided |\n|---|---|---|---|---|',
  )
  const table = (subject: string, processes: number, reports: readonly LoadReport[]) => {
    const { meanOfLimit, greatestOfLimit } = accuracyOf(
      reports.flatMap(({ admittedAt }) => admittedAt),
      limit,
      windowSeconds,
    )
    const undecided = reports.reduce((sum, report) => sum + report.undecided, 0)
    say(`| ${subject} | ${processes} | ${(100 * meanOfLimit).toFixed(1)} % | ${(100 * greatestOfLimit).toFixed(1)} % | ${undecided} |`)
  }
  for (const processes of values.processes) {
    const order: Order = {
      callers: 1,
      limit,
      windowSeconds,
      timeoutMs,
      seconds: runSeconds,
      mode: { open: (2 * limit) / processes },
      log: true,
    }
    for (const subject of subjects) {
      const prefix = nextPrefix()
      table(subject, processes, await Promise.all(Array.from({ length: processes }, () => load(subject, redisUrl, order, prefix))))
    }
    if (envoy !== undefined) {
      const one = envoyOrder(order, redisUrl)
      const reports = await withEnvoy(envoy, limit, windowSeconds, (peer) =>
        Promise.all(Array.from({ length: processes }, () => peer.load(one))),
      )
      table(ENVOY, processes, reports)
    }
  }
}

async function main(): Promise<void> {
  say(`${describeMachine()}; each load for speed and latency lasts ${seconds} s, and each load of the section rate half as long`)
  await withStarted((folder) => startServers(join(folder, 'redis'), { names: ['redis'] }), measure)
}

async function measure({ addresses: { redis } }: BenchServers, folder: string): Promise<void> {
  const applyRate: ApplyRate = (subject, callers, perSecond) => {
    const order = { callers, limit: 10_000_000, windowSeconds: 60, timeoutMs: PATIENT_MS, seconds: seconds / 2, log: false }
    return load(subject, redis, { ...order, mode: { open: perSecond } }, nextPrefix())
  }
  const subjects = await installedSubjects()
  const needsPeers = ['speed', 'latency', 'accuracy'].some((section) => sections.has(section))
  const bin = needsPeers ? await whereInstalled(ENVOY, () => buildEnvoy(TOOLS)) : undefined
  const envoy = bin === undefined ? undefined : (limit: number, window: number) => startEnvoy(bin, folder, redis, limit, window)
  if (sections.has('speed'))
    await compare(redis, subjects, envoy, `Speed: ${IN_FLIGHT} requests in flight, one process`, { closed: IN_FLIGHT }, PATIENT_MS)
  if (sections.has('latency'))
    await compare(redis, subjects, envoy, `Latency at ${thousands(SHARED_RATE)} requests per second`, { open: SHARED_RATE }, TIMEOUT_MS)
  if (sections.has('rate')) await rateTable(applyRate, subjects, wanted, say)
  if (sections.has('accuracy')) await accuracy(redis, subjects, envoy)
  if (sections.has('leases')) await leaseTable(say)
  if (sections.has('changes')) await changesTable(folder, say)
  if (sections.has('faults')) await faultTable(folder, say)
  if (sections.has('rules')) matchingTable(say)
}

await runMain(main)
