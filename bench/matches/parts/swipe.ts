import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Person } from '../../../tools/people/people.ts'
import { swipeDraw } from '../../../tools/people/people.ts'
import { integer, seededRandom } from '../../../tools/random/random.ts'
import { type NodeProcess, startProgram } from '../../harness/node-process.ts'
import { PeerMissingError, whereInstalled } from '../../peer-missing.ts'
import { type Client, httpClient } from '../../snippets/client.ts'
import type { PartInput } from '../part.ts'
import { atRate, CONNECTIONS, type Contender, inTurn, loadRemark, type Round } from '../rounds.ts'
import type { MatchesSystem } from '../system.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
/** Maximum number of users who swipe during the measurement. */
const SWIPERS = 2_000
const SEED = 31
const WARM_UP_SECONDS = 10
const GO_SOURCE = fileURLToPath(new URL('../peer-go', import.meta.url))
const BUILD_TIMEOUT_MS = 300_000
const PEER_TOPIC = 'bench-swipes'

export interface SwipeLoad {
  /** Sends one swipe. */
  ask(): Promise<void>
  /** Returns the number of 202 responses since the last call. */
  takeQueued(): number
}

/**
 * Prepares swipes by up to 2,000 users. The number is limited so that the API's cache of verified tokens can hold the
 * tokens of all these users.
 * @param targetOf returns the target of a swipe; by default, targets are drawn by popularity
 */
export async function swipeLoad(
  { people, headersOf }: MatchesSystem,
  client: Client,
  seed: number,
  targetOf?: () => Person,
): Promise<SwipeLoad> {
  const random = seededRandom(seed)
  const draw = swipeDraw(people)
  const swipers = Array.from({ length: Math.min(SWIPERS, people.length) }, () => people[integer(random, people.length)])
  const headers = await Promise.all(swipers.map(async ({ userId }) => ({ ...(await headersOf(userId)), ...JSON_TYPE, 'x-user': userId })))
  let queued = 0
  return {
    async ask() {
      const index = integer(random, swipers.length)
      const drawn = draw(random)
      const target = targetOf?.() ?? drawn.target
      if (target === swipers[index]) return
      const body = Buffer.from(JSON.stringify({ target_user_id: target.userId, direction: drawn.direction }))
      const { head } = await client.post('/v1/swipe', [body], headers[index])
      if (head.includes('"queued":true')) queued++
    },
    takeQueued() {
      const taken = queued
      queued = 0
      return taken
    },
  }
}

/** Runs a round of swipes against Millrace's API. */
export async function swipeRound(system: MatchesSystem, load: SwipeLoad, perSecond: number, seconds: number): Promise<Round> {
  const round = await atRate(perSecond, seconds, load.ask, system.cpu)
  return { ...round, more: { ...round.more, 'queued (202):': load.takeQueued() } }
}

/** Measures swipes at a fixed rate. Compares them with a Go server that waits for all in-sync replicas. */
export async function measureSwipes({ system, values, folder, say }: PartInput): Promise<void> {
  const { swipes: perSecond, seconds, rounds } = values
  const client = httpClient(system.api.url, CONNECTIONS)
  const load = await swipeLoad(system, client, SEED)
  const peer = values['no-peers'] ? undefined : await whereInstalled('the swipe endpoint in Go', () => startGoPeer(folder, system))
  const peerClient = peer && httpClient(peer.line.url as string, CONNECTIONS)
  const contenders: Contender[] = [
    { name: 'Millrace', before: () => system.untilIdle(), once: () => swipeRound(system, load, perSecond, seconds) },
  ]
  if (peerClient !== undefined) {
    const peerLoad = await swipeLoad(system, peerClient, SEED)
    contenders.push({ name: 'Go net/http, acks=all', once: () => atRate(perSecond, seconds, peerLoad.ask) })
  }
  say(`\n### ${perSecond} swipes are sent per second, in rounds of ${seconds} s (target: P99 < 50 ms, goal: 20 ms); ${loadRemark()}\n`)
  try {
    await atRate(perSecond / 2, WARM_UP_SECONDS, load.ask)
    load.takeQueued()
    await inTurn(contenders, rounds, say)
  } finally {
    client.close()
    peerClient?.close()
    await peer?.stop()
  }
}

async function startGoPeer(folder: string, { servers, transport }: MatchesSystem): Promise<NodeProcess> {
  const program = join(folder, 'peer-go-swipe')
  await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: GO_SOURCE, timeout: BUILD_TIMEOUT_MS }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') throw new PeerMissingError('Go is not installed; see https://go.dev/dl')
      throw new PeerMissingError(`it cannot be built: ${error.message.split('\n').filter(Boolean).join(' ')}`)
    },
  )
  await transport.ensureTopics([{ name: PEER_TOPIC, partitions: 1, config: {} }])
  return startProgram(program, ['-brokers', servers.addresses.kafka, '-topic', PEER_TOPIC], {}, 'peer_started')
}
