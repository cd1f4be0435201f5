import { integer, seededRandom } from '../../../tools/random/random.ts'
import { startNode } from '../../harness/node-process.ts'
import { httpClient } from '../../snippets/client.ts'
import type { PartInput } from '../part.ts'
import { atRate, CONNECTIONS, type Contender, inTurn, loadRemark } from '../rounds.ts'

const VIEWERS = 500
/**
 * Minimum number of candidates in the stack of a viewer. A feed repeats the search early if fewer than `REFILL_BELOW`
 * candidates are left, and this part must not measure searches.
 */
const LEAST_CANDIDATES = 20
const SEED = 41
const WARM_UP_SECONDS = 5

/** Measures feeds of users with a kept stack. Compares them with a Hono route that returns an empty object. */
export async function measureFeeds({ system, values, say }: PartInput): Promise<void> {
  const { feeds: perSecond, seconds, rounds } = values
  const client = httpClient(system.api.url, CONNECTIONS)
  const random = seededRandom(SEED)
  const viewers: Record<string, string>[] = []
  while (viewers.length < VIEWERS) {
    const headers = await system.headersOf(system.people[integer(random, system.people.length)].userId)
    const { candidates } = (await (await fetch(`${system.api.url}/v1/feed?limit=50`, { headers })).json()) as { candidates: unknown[] }
    if (candidates.length >= LEAST_CANDIDATES) viewers.push(headers)
  }
  const ask = async () => void (await client.get('/v1/feed', viewers[integer(random, viewers.length)]))
  const contenders: Contender[] = [{ name: 'Millrace', once: () => atRate(perSecond, seconds, ask, system.cpu) }]
  const peer = values['no-peers'] ? undefined : await startNode('bench/matches/empty-route.ts', [], {}, 'peer_started')
  const peerClient = peer && httpClient(peer.line.url as string, CONNECTIONS)
  if (peerClient !== undefined)
    contenders.push({
      name: 'Hono, empty route',
      once: () => atRate(perSecond, seconds, async () => void (await peerClient.get('/v1/feed', viewers[0]))),
    })
  say(
    `\n### ${perSecond} feeds with a kept stack are requested per second, in rounds of ${seconds} s (target: P99 < 200 ms, goal: 20 ms); ${loadRemark()}\n`,
  )
  try {
    await atRate(perSecond, WARM_UP_SECONDS, ask)
    await inTurn(contenders, rounds, say)
  } finally {
    client.close()
    peerClient?.close()
    await peer?.stop()
  }
}
