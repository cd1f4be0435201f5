import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { registryClient } from '../../../kafka/registry.ts'
import { pairKey } from '../../../schemas/matches/pair.ts'
import { matchDeletions, matchEvents, matchPairCommands, pairSwipes } from '../../../schemas/matches/topics.ts'
import { type BenchConfig, benchConfig } from '../../engine/config.ts'
import { ContenderEndedError, peerContender } from '../../engine/contender.ts'
import { PARTITIONS } from '../../engine/job.ts'
import { JOBS } from '../../engine/jobs.ts'
import { loadInput } from '../../engine/load.ts'
import { makeSwipes } from '../../engine/matches/swipes.ts'
import { measureRun } from '../../engine/measure.ts'
import engineDeclaration from '../../engine/run.command.ts'
import { benchTransport } from '../../harness/broker.ts'
import { startServers } from '../../harness/servers.ts'
import { median, row } from '../../harness/table.ts'
import { runTopology, type TopologyRun } from '../../harness/topology-run.ts'
import { whereInstalled } from '../../peer-missing.ts'
import type { PartInput } from '../part.ts'
import { loadRemark, middleOf } from '../rounds.ts'
import { sendAll } from '../seed.ts'

const MATCH_PAIRS = { module: 'pipelines/matches/pairs/topology.ts', export: 'matchPairs', group: 'match-pairs' }
const KAFKA_STREAMS_VARIANTS = [
  { label: 'Kafka Streams on J3, 1 thread, default', arguments: [] },
  { label: 'Kafka Streams on J3, 2 threads, tuned', arguments: ['--variant', 'tuned', '--peer-workers', '2'] },
]

/**
 * Measures the topology match-pairs on the swipes of job J3, compared with Kafka Streams on the same job. Both use
 * exactly-once processing. The topology does more per pair than the job requires: it also outputs events, push
 * notifications, and the relation of each user to the other user.
 */
export async function measurePairs({ values, folder, say }: Pick<PartInput, 'values' | 'folder' | 'say'>): Promise<void> {
  const { records, rounds } = values
  const servers = await startServers(join(folder, 'pairs'), { names: ['kafka'] })
  const transport = benchTransport(servers.addresses.kafka)
  try {
    await transport.connect()
    await transport.ensureTopics(
      [pairSwipes, matchDeletions, matchPairCommands, matchEvents].map(({ name, config }) => ({ name, partitions: PARTITIONS, config })),
    )
    await servers.components.registry.start()
    const registry = registryClient({ url: servers.addresses.registry })
    const input = JOBS.J3.input('', records)
    const topic = 'bench-j3-in'
    const peers = values['no-peers'] ? [] : KAFKA_STREAMS_VARIANTS
    const contenders = await whereInstalled('Kafka Streams', () =>
      peers.map(({ label, arguments: args }) => ({ label, contender: peerContender('kafka-streams', j3Config(args)) })),
    )
    await loadInput(transport, topic, input)
    const runs = new Map<string, TopologyRun[]>()
    const add = (label: string, run: TopologyRun) => {
      runs.set(label, [...(runs.get(label) ?? []), run])
      process.stderr.write(`${label}: ${run.perSecond.toFixed(0)}/s, ${run.cpu.toFixed(1)} s of CPU per million\n`)
    }
    say(
      `\n### match-pairs processes ${records} swipes in ${PARTITIONS} partitions (target: at least twice the rate of Kafka Streams on J3); ${loadRemark()}\n`,
    )
    for (let round = 0; round < rounds; round++) {
      const target = { transport, registry }
      await sendSwipes(target, records, round)
      add('match-pairs, 1 worker', await runTopology(servers, { ...MATCH_PAIRS, topics: [pairSwipes.name], records, prof: values.prof }))
      for (const { label, contender } of contenders ?? []) {
        const group = `bench-j3-${randomUUID().slice(0, 8)}`
        const output = `${group}-out`
        await transport.ensureTopics([{ name: output, partitions: PARTITIONS, config: { 'retention.ms': '-1' } }])
        const worker = {
          job: 'J3',
          brokers: servers.addresses.kafka,
          input: topic,
          output,
          group,
          stateDir: join(folder, group),
          guarantee: 'exactly-once',
          commitIntervalMs: 100,
          compression: 'none',
        } as const
        const figures = await measureRun({ contender, worker, records, brokerPid: servers.pids.kafka }).catch((error) => {
          if (!(error instanceof ContenderEndedError)) throw error
          say(`skipping ${label}: ${error.message}; check that the peer is built and that PEERS_BUILD is set to its build folder`)
        })
        if (figures === undefined) continue
        add(label, { perSecond: figures.recordsPerSecond, warmPerSecond: figures.warmRecordsPerSecond, cpu: figures.cpu })
      }
    }
    say(row(['', 'records/s (spread)', 'second half', 'CPU s/M']))
    say(row(['---', '--:', '--:', '--:']))
    for (const [label, found] of runs)
      say(
        row([
          label,
          middleOf(
            found.map(({ perSecond }) => perSecond),
            0,
          ),
          median(found.map(({ warmPerSecond }) => warmPerSecond)).toFixed(0),
          median(found.map(({ cpu }) => cpu)).toFixed(1),
        ]),
      )
  } finally {
    await transport.close()
    await servers.components.registry.stop()
    await servers.stop()
  }
}

function j3Config(args: readonly string[]): BenchConfig {
  const asked = engineDeclaration.parse(['--job', 'J3', ...args])
  if (asked === 'help') throw new Error('unexpected: the arguments were parsed as a request for help')
  return benchConfig(asked)
}

/** Writes the swipes of J3, including left-swipes. Each round has different users. */
async function sendSwipes(target: Parameters<typeof sendAll>[0], records: number, round: number): Promise<void> {
  const { swiper, swipee, right } = makeSwipes(records)
  const id = (user: number) => `${user.toString(16).padStart(8, '0')}-0000-4000-8000-${round.toString(16).padStart(12, '0')}`
  const now = Date.now()
  const indexes = { length: records }
  await sendAll(
    target,
    pairSwipes,
    Array.from(indexes, (_, index) => index),
    (index) => {
      const [swiper_id, target_id] = [id(swiper[index]), id(swipee[index])]
      const swipe_id = `${index.toString(16).padStart(8, '0')}-0000-4000-9000-${round.toString(16).padStart(12, '0')}`
      const direction = right[index] === 1 ? 'RIGHT' : 'LEFT'
      return [pairKey(swiper_id, target_id), { swipe_id, swiper_id, target_id, direction, ts: now + index }, now]
    },
  )
}
