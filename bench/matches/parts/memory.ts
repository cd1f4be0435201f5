import { randomUUID } from 'node:crypto'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { matchRelations } from '../../../schemas/matches/topics.ts'
import type { SwipeEvent } from '../../../schemas/matches/types.ts'
import { MATCH_INDEX_VIEW } from '../../../state/views/matches/index-cells.ts'
import { userKeys } from '../../../state/views/matches/users.ts'
import { swipeDraw } from '../../../tools/people/people.ts'
import { seededRandom } from '../../../tools/random/random.ts'
import { row } from '../../harness/table.ts'
import { bytesByTopic, bytesIn } from '../disk.ts'
import type { PartInput } from '../part.ts'
import { seedSwipes } from '../seed.ts'
import type { MatchesSystem } from '../system.ts'

const USERS = 500
const SWIPES = 300
const SEED = 81
/** Minimum growth of a topic, in bytes per swipe. The table omits topics that grow more slowly. */
const LEAST_BYTES = 1
const DAY_MS = 24 * 3_600_000
/** Period over which the swipes are spread. */
const WITHIN_MS = 20 * DAY_MS

/** Measures the disk space per swipe, and the Redis memory of users who have swiped 300 times. */
export async function measureMemory({ system, say }: PartInput): Promise<void> {
  const random = seededRandom(SEED)
  const draw = swipeDraw(system.people)
  const users = system.people.slice(0, USERS).map(({ userId }) => userId)
  const start = Date.now() - WITHIN_MS
  const swipes: SwipeEvent[] = Array.from({ length: SWIPES }, (_, index) => index).flatMap((index) =>
    users.flatMap((swiper_id) => {
      const { target, direction } = draw(random)
      if (target.userId === swiper_id) return []
      const ts = start + Math.floor((index * WITHIN_MS) / SWIPES)
      return [{ swipe_id: randomUUID(), swiper_id, target_id: target.userId, direction, ts, duration_ms: null, position: null }]
    }),
  )
  await system.untilIdle()
  const before = diskBytes(system)
  await seedSwipes(system, swipes)
  await system.untilIdle()
  await sayDisk(system, before, swipes.length, say)
  const bytes = await bytesByKind(system, users)
  const { perMember, members, largest } = await indexBytes(system)
  const withoutStack = [...bytes].reduce((sum, [kind, mean]) => sum + (kind === 'stack' ? 0 : mean), perMember)
  say(`\n### Redis memory of a user with ${SWIPES} swipes (mean of ${USERS} users; target: at most 3 KB without the stack)\n`)
  say(row(['key', 'bytes (MEMORY USAGE)']))
  say(row(['---', '--:']))
  for (const [kind, mean] of bytes) if (mean > 0) say(row([kind, mean.toFixed(0)]))
  say(row(['entry of the candidate index', perMember.toFixed(0)]))
  say(row(['**all, without the stack**', withoutStack.toFixed(0)]))
  const likes = await meanLikes(system, users)
  say(`\nThese users have received ${likes.toFixed(1)} likes on average.`)
  say(`The largest cell of the index (geohash 4) has ${largest.members} of ${members} users and takes ${largest.bytes} bytes.`)
}

interface DiskBytes {
  readonly topics: ReadonlyMap<string, number>
  /** Size of the workers' state folders in bytes. */
  readonly state: number
}

function diskBytes({ servers: { home } }: MatchesSystem): DiskBytes {
  return { topics: bytesByTopic(home.data), state: bytesIn(home.state) }
}

/**
 * Prints the growth of each topic and of the workers' state on disk, in bytes per swipe, and the size of a row in
 * ClickHouse. Omits topics that have hardly grown.
 */
async function sayDisk(system: MatchesSystem, before: DiskBytes, swipes: number, say: PartInput['say']): Promise<void> {
  const after = diskBytes(system)
  say(`\n### Disk space per swipe, measured with a backlog of ${swipes} swipes; the broker has one replica of each topic\n`)
  say(row(['what', 'bytes per swipe']))
  say(row(['---', '--:']))
  const grown = [...after.topics].map(([topic, bytes]) => [topic, (bytes - (before.topics.get(topic) ?? 0)) / swipes] as const)
  for (const [topic, bytes] of grown.toSorted(([, a], [, b]) => b - a))
    if (bytes >= LEAST_BYTES) say(row([`topic ${topic}`, bytes.toFixed(0)]))
  say(row(['state of the workers in RocksDB, logs included', ((after.state - before.state) / swipes).toFixed(0)]))
  const rows = await system.servers.query("SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts WHERE active AND table = 'match_swipes'")
  say(row(['row of match_swipes in ClickHouse', rows.toFixed(0)]))
}

async function partitionsOf({ transport }: MatchesSystem): Promise<number> {
  return (await transport.partitionCounts([matchRelations.name])).get(matchRelations.name) as number
}

/** Returns the mean Redis memory per user in bytes, grouped by kind of key. */
async function bytesByKind(system: MatchesSystem, users: readonly string[]): Promise<Map<string, number>> {
  const partitions = await partitionsOf(system)
  const sums = new Map<string, number>()
  for (const id of users) {
    const { caughtUp: _shared, ...current } = userKeys(partitionFor(Buffer.from(id), partitions), id)
    const keys = Object.entries(current)
    const found = await Promise.all(keys.map(([, key]) => system.redis.memory('USAGE', key, 'SAMPLES', 0)))
    for (const [index, [kind]] of keys.entries()) sums.set(kind, (sums.get(kind) ?? 0) + (found[index] ?? 0))
  }
  return new Map([...sums].map(([kind, sum]) => [kind, sum / users.length]))
}

async function meanLikes(system: MatchesSystem, users: readonly string[]): Promise<number> {
  const partitions = await partitionsOf(system)
  const counts = await Promise.all(users.map((id) => system.redis.zcard(userKeys(partitionFor(Buffer.from(id), partitions), id).likes)))
  return counts.reduce((sum, count) => sum + count, 0) / users.length
}

/** Returns the number of members of the candidate index, its Redis memory per member in bytes, and its largest cell. */
async function indexBytes({ redis }: MatchesSystem) {
  let [members, bytes] = [0, 0]
  let largest = { members: 0, bytes: 0 }
  for await (const keys of redis.scanStream({ match: `{${MATCH_INDEX_VIEW}:*:cell:*` })) {
    for (const key of keys as string[]) {
      const cell = { members: await redis.zcard(key), bytes: (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0 }
      members += cell.members
      bytes += cell.bytes
      if (cell.members > largest.members) largest = cell
    }
  }
  return { members, perMember: bytes / Math.max(1, members), largest }
}
