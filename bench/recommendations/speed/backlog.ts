import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { registryClient } from '../../../kafka/registry.ts'
import { interactions, itemEvents } from '../../../schemas/recommendations/topics.ts'
import { benchTransport } from '../../harness/broker.ts'
import { startServers } from '../../harness/servers.ts'
import { row } from '../../harness/table.ts'
import { runTopology } from '../../harness/topology-run.ts'
import { loadRemark } from '../../matches/rounds.ts'
import type { PartInput } from './part.ts'
import { seedInteractions, seedItems } from './seed.ts'

const FEATURES = { module: 'pipelines/recommendations/users/topology.ts', export: 'userFeaturesTopology', group: 'user-features' }
const SIGNALS = { module: 'pipelines/recommendations/signals/topology.ts', export: 'itemSignals', group: 'item-signals' }

/** Measures how fast one worker of each topology processes a backlog of interactions. */
export async function measureBacklog({ world, values, folder, say }: Omit<PartInput, 'bundle'>): Promise<void> {
  const place = join(folder, 'backlog')
  rmSync(place, { recursive: true, force: true })
  const servers = await startServers(place, { names: ['kafka', 'registry'] })
  const transport = benchTransport(servers.addresses.kafka)
  try {
    await transport.connect()
    const target = { transport, registry: registryClient({ url: servers.addresses.registry }) }
    // The items must exist first, because the statistics and the trending items ignore events about unknown items.
    await seedItems(target, world)
    const records = await seedInteractions(target, world, values.backlog)
    say(`\n### One worker processes a backlog of ${records} interactions of ${world.users} users; ${loadRemark()}\n`)
    say(row(['topology', 'interactions/s', 'second half', 'CPU s per million', 'records/s', 'target']))
    say(row(['---', '--:', '--:', '--:', '--:', '---']))
    const features = await runTopology(servers, { ...FEATURES, topics: [interactions.name], records, prof: values.prof })
    say(row(['user-features', ...roundedOf(features), features.perSecond.toFixed(0), '15,000 interactions/s']))
    const count = await recordsIn(transport, itemEvents.name)
    const signals = await runTopology(servers, { ...SIGNALS, topics: [itemEvents.name], records: count, prof: values.prof })
    const share = records / count
    const perInteraction = {
      perSecond: signals.perSecond * share,
      warmPerSecond: signals.warmPerSecond * share,
      cpu: signals.cpu / share,
    }
    say(row(['item-signals', ...roundedOf(perInteraction), signals.perSecond.toFixed(0), '5,000 interactions/s']))
  } finally {
    await transport.close()
    await servers.stop()
  }
}

function roundedOf({ perSecond, warmPerSecond, cpu }: { perSecond: number; warmPerSecond: number; cpu: number }): string[] {
  return [perSecond.toFixed(0), warmPerSecond.toFixed(0), cpu.toFixed(0)]
}

async function recordsIn(transport: ReturnType<typeof benchTransport>, topic: string): Promise<number> {
  const count = (await transport.partitionCounts([topic])).get(topic) as number
  const ends = await transport.offsets(
    Array.from({ length: count }, (_, partition) => ({ topic, partition })),
    'end',
  )
  return [...ends.values()].reduce((sum, end) => sum + end, 0)
}
