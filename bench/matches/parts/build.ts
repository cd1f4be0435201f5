import { partitionFor } from '../../../kafka/partitioner.ts'
import { matchRelations } from '../../../schemas/matches/topics.ts'
import { parseMember } from '../../../state/views/matches/candidates/index-member.ts'
import { MATCH_INDEX_VIEW } from '../../../state/views/matches/index-cells.ts'
import { userKeys } from '../../../state/views/matches/users.ts'
import { integer, seededRandom } from '../../../tools/random/random.ts'
import { startNode } from '../../harness/node-process.ts'
import { cpuSeconds } from '../../harness/process-stats.ts'
import { httpClient } from '../../snippets/client.ts'
import type { PartInput } from '../part.ts'
import { atRate, CONNECTIONS, type Contender, inTurn, loadRemark } from '../rounds.ts'
import type { MatchesSystem } from '../system.ts'

const GEO_KEY = 'bench:geo'
const SEED = 51
const WARM_UP_SECONDS = 5
const KEYS_PER_SCAN = 1_000

/** Measures feeds that need a search. Compares them with a server that finds the same candidates with GEOSEARCH. */
export async function measureBuilds({ system, values, say }: PartInput): Promise<void> {
  const { builds: perSecond, seconds, rounds } = values
  const client = httpClient(system.api.url, CONNECTIONS)
  const random = seededRandom(SEED)
  const viewers = Array.from({ length: perSecond * Math.max(seconds, WARM_UP_SECONDS) }, () => {
    return system.people[integer(random, system.people.length)].userId
  })
  const headers = new Map<string, Record<string, string>>()
  for (const id of viewers) headers.set(id, await system.headersOf(id))
  let next = 0
  const nextViewer = () => viewers[next++ % viewers.length]
  const ask = async () => {
    const viewer = nextViewer()
    await client.get('/v1/feed', headers.get(viewer))
  }
  const contenders: Contender[] = [
    { name: 'Millrace', before: () => forgetStacks(system, viewers), once: () => atRate(perSecond, seconds, ask, system.cpu) },
  ]
  const peer = values['no-peers'] ? undefined : await startGeosearch(system)
  const peerClient = peer && httpClient(peer.line.url as string, CONNECTIONS)
  const peerCpu = () => ({ server: cpuSeconds(peer?.pid ?? 0), Redis: system.cpu().Redis })
  if (peerClient !== undefined)
    contenders.push({
      name: 'Redis GEOSEARCH, same filters',
      once: () => atRate(perSecond, seconds, async () => void (await peerClient.get(`/v1/feed/${nextViewer()}`)), peerCpu),
    })
  say(
    `\n### ${perSecond} feeds that search are requested per second, in rounds of ${seconds} s (target: P99 < 200 ms, goal: 50 ms); ${loadRemark()}\n`,
  )
  if (!values['no-peers']) say('skipping Tile38: its server is not available from the Go proxy, npm or Debian\n')
  try {
    await forgetStacks(system, viewers)
    await atRate(perSecond, WARM_UP_SECONDS, ask)
    await inTurn(contenders, rounds, say)
  } finally {
    client.close()
    peerClient?.close()
    await peer?.stop()
  }
}

async function forgetStacks({ redis, transport }: MatchesSystem, viewers: readonly string[]): Promise<void> {
  const count = (await transport.partitionCounts([matchRelations.name])).get(matchRelations.name) as number
  const pipeline = redis.pipeline()
  for (const id of viewers) pipeline.unlink(userKeys(partitionFor(Buffer.from(id), count), id).stack)
  await pipeline.exec()
}

/** Copies all members of the candidate index unchanged into one geo set, and starts a server that searches this set. */
async function startGeosearch({ redis, servers, transport }: MatchesSystem) {
  for await (const keys of redis.scanStream({ match: `{${MATCH_INDEX_VIEW}:*:cell:*`, count: KEYS_PER_SCAN })) {
    for (const key of keys as string[]) {
      const pipeline = redis.pipeline()
      for (const member of await redis.zrange(key, '0', '-1')) {
        const { lat, lon } = parseMember(member).place
        pipeline.call('GEOADD', GEO_KEY, String(lon), String(lat), member)
      }
      await pipeline.exec()
    }
  }
  const count = (await transport.partitionCounts([matchRelations.name])).get(matchRelations.name) as number
  return startNode('bench/matches/geosearch-feed.ts', [], {}, 'peer_started', [servers.addresses.redis, GEO_KEY, String(count)])
}
