/**
 * `npm run bench:restart`: measures how long restoring state takes, and how long partitions stall when workers stop,
 * crash and restart. Every stream is verified: a lost or duplicated record ends the run with an error, and so does a
 * record out of order, except in job J2. See run.command.ts.
 */
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { dataSet } from '../../scripts/data-sets.ts'
import { startBroker } from '../harness/broker.ts'
import { withStarted } from '../harness/folder.ts'
import { describeMachine } from '../harness/process-stats.ts'
import { median, row } from '../harness/table.ts'
import { whereInstalled } from '../peer-missing.ts'
import { type RestartConfig, restartConfig } from './config.ts'
import { engine, kafkaStreams, scalingKafkaStreams } from './contenders.ts'
import { restoreKafkaStreams } from './peer.ts'
import { restoreJob } from './restore-job.ts'
import declaration from './run.command.ts'
import { type ScaleStalls, scale } from './scale.ts'
import {
  failover,
  killAndRestart,
  type Place,
  type RestoreFigures,
  restartInPlace,
  restore,
  rollingRestart,
  type Stalls,
} from './scenarios.ts'
import { MISHAPS, sideBySide } from './side-by-side.ts'

/**
 * Number of keys in the second restore. This restore resembles job J2, in which a million payments belong to about
 * 5,000 cards, so each card has 200 payments on average.
 */
const J2_KEYS = 5_000

const asked = commandLine(declaration)

const say = (line: string) => process.stdout.write(`${line}\n`)
const seconds = (ms: number) => (ms / 1_000).toFixed(2)

async function restores(place: Place, { peersDir, dataDir }: RestartConfig): Promise<void> {
  say(row(['restore of wiped state, 4 partitions', 'records', 'records/s (median)', 'start to ready (s, median)']))
  say(row(['---', '--:', '--:', '--:']))
  const { keys, runs } = asked
  const shapes = [
    { label: `${keys} keys, each written once`, of: keys, rounds: 1 },
    { label: `${J2_KEYS} keys, each written ${Math.round(keys / J2_KEYS)} times`, of: J2_KEYS, rounds: Math.round(keys / J2_KEYS) },
  ]
  for (const { label, of, rounds } of shapes) {
    say(restoreRow(`engine, ${label}`, await restore(place, of, rounds, runs)))
  }
  try {
    dataSet(dataDir, 'payments')
  } catch (error) {
    say(`skipping job J2: ${(error as Error).message}`)
    return
  }
  say(restoreRow('engine, job J2, 1 worker', await restoreJob(place, dataDir, keys, runs)))
  if (asked.peer === undefined) return
  const settings = { brokers: place.brokers, peersDir, dataDir, folder: place.folder, records: keys, runs }
  const theirs = await whereInstalled('Kafka Streams', () => restoreKafkaStreams(settings))
  if (theirs === undefined) return
  const figures = theirs.map(({ restored, restore_s, start_to_running_s }) => ({
    records: restored,
    recordsPerSecond: restored / restore_s,
    startToReadySeconds: start_to_running_s,
  }))
  say(restoreRow('Kafka Streams, job J2, 2 threads', figures))
}

function restoreRow(label: string, figures: readonly RestoreFigures[]): string {
  const rate = median(figures.map(({ recordsPerSecond }) => recordsPerSecond))
  const ready = median(figures.map(({ startToReadySeconds }) => startToReadySeconds))
  return row([label, String(figures[0].records), rate.toFixed(0), ready.toFixed(2)])
}

async function inPlace(place: Place): Promise<void> {
  say(row(['restart with the state in place', 'start to ready (s, median)']))
  say(row(['---', '--:']))
  const again = async (keys: number, end: 'stop' | 'kill') => median(await restartInPlace(place, keys, asked.runs, end)).toFixed(2)
  for (const keys of [asked.keys / 10, asked.keys, asked.keys * 4]) say(row([`${keys} keys`, await again(Math.round(keys), 'stop')]))
  say(row([`${asked.keys} keys, after kill -9`, await again(asked.keys, 'kill')]))
}

const STALL_HEADER = [
  row([
    '3 workers, 6 partitions, under load',
    'before (s)',
    'partitions of stopped workers (s)',
    'partitions moved between other workers (s)',
    'unmoved partitions (s)',
    'start to ready (s)',
  ]),
  row(['---', '--:', '--:', '--:', '--:', '--:']),
]

function stallRow(label: string, { before, concerned, moved, stayed, startMs }: Stalls): string {
  return row([label, seconds(before), seconds(concerned), seconds(moved), seconds(stayed), startMs === undefined ? '–' : seconds(startMs)])
}

async function stalls(place: Place): Promise<void> {
  const { only, keys, rate } = asked
  if (!only.some((name) => name === 'kill' || name === 'rolling' || name === 'failover')) return
  for (const line of STALL_HEADER) say(line)
  if (only.includes('kill')) say(stallRow('kill -9 and restart', await killAndRestart(place, keys, rate)))
  if (only.includes('rolling')) {
    say(stallRow('rolling restart, partitions kept', await rollingRestart(place, keys, rate, true)))
    say(stallRow('rolling restart, leaving the group each time', await rollingRestart(place, keys, rate, false)))
  }
  if (only.includes('failover')) {
    for (const standby of [0, 1] as const) {
      for (const victim of ['first', 'middle', 'last'] as const) {
        const label = `killed without restart, the ${victim} by member id, ${keys} keys each, ${standby === 0 ? 'no standby' : 'standby'}`
        say(stallRow(label, await failover(place, 3 * keys, rate, standby, victim)))
      }
    }
  }
}

const SCALE_HEADER = [
  row([
    '2 workers, then 3, 6 partitions, standby, under load',
    'before (s)',
    'partitions of the added or removed worker (s)',
    'partitions moved between other workers (s)',
    'unmoved partitions (s)',
    'until all workers are ready (s)',
  ]),
  row(['---', '--:', '--:', '--:', '--:', '--:']),
]

function scaleRow({ what, before, concerned, moved, stayed, took }: ScaleStalls): string {
  const optional = (ms: number | undefined) => (ms === undefined ? '–' : seconds(ms))
  return row([
    `${asked.keys} keys of ${asked['value-bytes']} bytes: ${what}`,
    seconds(before),
    seconds(concerned),
    optional(moved),
    optional(stayed),
    seconds(took),
  ])
}

async function scales(place: Place): Promise<void> {
  if (!asked.only.includes('scale')) return
  for (const line of SCALE_HEADER) say(line)
  const { keys, 'value-bytes': valueBytes, rate, changes } = asked
  await scale(place, { keys, valueBytes, rate, changes, report: (stalls) => say(scaleRow(stalls)) })
}

/**
 * Runs job J2 with the engine and with the peer, causes the same faults and membership changes in both, and measures
 * latencies by reading the results.
 */
async function beside(place: Place, { peersDir }: RestartConfig): Promise<void> {
  const mishaps = (['kill', 'rolling', 'failover'] as const).filter((name) => asked.only.includes(name))
  const changes = asked.only.includes('scale-job') ? (['add', 'lose'] as const) : []
  if (asked.peer === undefined || mishaps.length + changes.length === 0) return
  const peer = await whereInstalled('Kafka Streams', () => kafkaStreams(peersDir))
  if (peer === undefined) return
  const scaling =
    changes.length === 0 ? undefined : await whereInstalled('Kafka Streams with standbys', () => scalingKafkaStreams(peersDir))
  say(row(['job J2, exactly once, up to 3 processes, 4 partitions, under load', 'before (s)', 'longest (s)', 'partitions stalled > 1 s']))
  say(row(['---', '--:', '--:', '--:']))
  for (const name of [...mishaps, ...changes]) {
    const other = name === 'add' || name === 'lose' ? scaling : peer
    for (const contender of other === undefined ? [engine] : [engine, other]) {
      const { before, longest, stood } = await sideBySide(place, contender, asked.keys, asked.rate, MISHAPS[name])
      say(row([`${name}: ${contender.label}`, seconds(before), seconds(longest), `${stood} of 4`]))
    }
  }
}

async function main(): Promise<void> {
  const config = restartConfig()
  const start = (folder: string) => startBroker(folder, config.brokers, 'error')
  await withStarted(start, async ({ brokers, transport }, folder) => {
    say(`${describeMachine()}; scenarios under load receive ${asked.rate} records/s`)
    const place: Place = { brokers, folder, transport }
    if (asked.only.includes('restore')) await restores(place, config)
    if (asked.only.includes('in-place')) await inPlace(place)
    await stalls(place)
    await scales(place)
    await beside(place, config)
  })
}

await runMain(main)
