import { integer, seededRandom } from '../../../tools/random/random.ts'
import { startNode } from '../../harness/node-process.ts'
import { row } from '../../harness/table.ts'
import { atRate, CONNECTIONS, type Contender, inTurn, loadRemark, middleOf, type Round } from '../../matches/rounds.ts'
import { httpClient } from '../../snippets/client.ts'
import { type Paced, paced } from '../../snippets/pace.ts'
import { itemIdOf } from './bundle.ts'
import { type Freshness, freshnessProbe } from './freshness.ts'
import type { PartInput } from './part.ts'
import type { RecommendationsSystem } from './system.ts'

const SEED = 61
/** Number of windows of 10 s that are measured right after the start, while V8 is still compiling code. */
const FIRST_WINDOWS = 6
const WINDOW_SECONDS = 10
const STORED_LISTS = 200
/** Text that a response contains if its list was computed with all data. */
const WHOLE = '"degraded":[]'

/**
 * Measures lists at a fixed rate, without and with concurrent events. Compares them with serving a list that is stored
 * in Redis.
 */
export async function measureServing({ world, values, say }: PartInput, system: RecommendationsSystem): Promise<void> {
  const { lists, events, batch, seconds, rounds } = values
  const client = httpClient(system.url, CONNECTIONS)
  const random = seededRandom(SEED)
  const anyUser = () => world.anyUser(random) + 1
  let degraded = 0
  async function ask(): Promise<void> {
    const { head } = await client.get(`/api/v1/recommendations?user_id=${anyUser()}`, system.headers)
    if (!head.includes(WHOLE)) degraded++
  }
  async function askedLists(): Promise<Round> {
    degraded = 0
    const round = await atRate(lists, seconds, ask, system.cpu)
    return { ...round, more: { ...round.more, 'degraded lists': degraded } }
  }

  async function postEvents(): Promise<void> {
    const body = Array.from({ length: batch }, () => {
      const user = world.anyUser(random)
      const item = itemIdOf(world.chosenBy(user, random))
      return { user_id: String(user + 1), item_id: String(item), event_type: 'VIEW', metadata: { watch_pct: 1 } }
    })
    const headers = { ...system.headers, 'content-type': 'application/json' }
    await client.post('/api/v1/events/batch', [Buffer.from(JSON.stringify({ events: body }))], headers)
  }

  async function sayFirstMinute(): Promise<void> {
    say(`\n### The API process serves ${lists} lists/s in its first minute; ${loadRemark()}\n`)
    say(row(['seconds', 'P50 ms', 'P99 ms', 'maximum ms', 'API ms of CPU per list']))
    say(row(['--:', '--:', '--:', '--:', '--:']))
    for (let window = 0; window < FIRST_WINDOWS; window++) {
      const { p50, p99, max, more } = await atRate(lists, WINDOW_SECONDS, ask, system.cpu)
      const start = window * WINDOW_SECONDS
      say(row([`${start}-${start + WINDOW_SECONDS}`, p50.toFixed(1), p99.toFixed(1), max.toFixed(1), more['API ms'].toFixed(2)]))
    }
  }

  const fresh: Freshness[] = []
  const posted: Paced[] = []
  async function besideEvents() {
    const probe = freshnessProbe({ world, system, client, seconds, random })
    const [round, post, found] = await Promise.all([askedLists(), paced(Math.ceil(events / batch), seconds, postEvents), probe])
    posted.push(post)
    fresh.push(found)
    return round
  }

  say(`\nThe API process was ready ${system.readySeconds.toFixed(0)} s after its start, with ${world.items} items.`)
  // This must be the first load on the process. Otherwise, V8 would already have compiled some of the code.
  await sayFirstMinute()
  const contenders: Contender[] = [{ name: 'lists alone', once: askedLists }]
  if (events > 0) contenders.push({ name: `lists alongside ${events} events/s`, once: besideEvents })
  const peer = values['no-peers']
    ? undefined
    : await startNode('bench/recommendations/speed/stored-list.ts', [], {}, 'peer_started', [system.servers.addresses.redis])
  const peerClient = peer && httpClient(peer.line.url as string, CONNECTIONS)
  if (peerClient !== undefined) {
    for (let list = 0; list < STORED_LISTS; list++) {
      const answer = await fetch(`${system.url}/api/v1/recommendations?user_id=${anyUser()}`, { headers: system.headers })
      await system.redis.set(`bench-list:${list}`, await answer.text())
    }
    const stored = async () => void (await peerClient.get(`/list/${integer(random, STORED_LISTS)}`))
    contenders.push({ name: 'a stored list from Redis', once: () => atRate(lists, seconds, stored) })
  }
  try {
    say(
      `\n### ${lists} lists of 20 items are requested per second, in rounds of ${seconds} s, with ${world.items} items and ${world.users} users (target: P99 < 30 ms); ${loadRemark()}\n`,
    )
    await inTurn(contenders, rounds, say)
    sayEvents(posted, fresh, { events, batch, say })
  } finally {
    client.close()
    peerClient?.close()
    await peer?.stop()
  }
}

function sayEvents(
  posted: readonly Paced[],
  fresh: readonly Freshness[],
  { events, batch, say }: Pick<PartInput, 'say'> & { events: number; batch: number },
): void {
  if (posted.length === 0) return
  const failed = posted.flatMap(({ failures }) => [...failures])
  const of = (share: number) => middleOf(posted.map(({ latencies }) => latencies[Math.floor((latencies.length - 1) * share)]))
  say(`\n${events} events/s in requests of ${batch}: P50 ${of(0.5)} ms, P99 ${of(0.99)} ms; failed: ${JSON.stringify(failed)}.`)
  const seen = fresh.flatMap(({ ms }) => ms).toSorted((a, b) => a - b)
  const missing = fresh.reduce((sum, { missing: count }) => sum + count, 0)
  const late = seen.filter((ms) => ms >= 2_000).length
  const at = (share: number) => seen[Math.floor((seen.length - 1) * share)]?.toFixed(0)
  say(
    `Time from an event to a list that reflects it (polled every 100 ms), ${seen.length} events in addition to the load: P50 ${at(0.5)} ms, P99 ${at(0.99)} ms, maximum ${at(1)} ms; ${late} took 2 s or longer, and no list reflected ${missing} further events. Target: 99 % within 2 s.`,
  )
}
