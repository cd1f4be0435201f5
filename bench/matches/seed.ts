import type { SchemaRegistry } from '../../kafka/registry-interface.ts'
import type { Transport } from '../../kafka/transport.ts'
import { locationUpdates, matchProfiles, swipeEvents } from '../../schemas/matches/topics.ts'
import type { MatchProfile, SwipeEvent } from '../../schemas/matches/types.ts'
import type { Topic } from '../../schemas/topic.ts'
import type { Person } from '../../tools/people/people.ts'
import { integer, seededRandom } from '../../tools/random/random.ts'
import { topicProducer } from '../../tools/topic-producer.ts'

export interface SeedTarget {
  readonly transport: Transport
  readonly registry: SchemaRegistry
}

/** Period over which the users' times of last activity are spread. It ends now. */
const ACTIVE_WITHIN_MS = 3 * 24 * 3_600_000
const YEAR_MS = 365 * 24 * 3_600_000
const SEED = 21
const BIO = 'I like the sea, long walks with a dog, old films and new restaurants. Ask me about the best coffee in town.'

/** Writes profiles as the pipeline that decides profile commands would, and locations as the API would. */
export async function seedPeople(target: SeedTarget, people: readonly Person[]): Promise<void> {
  const random = seededRandom(SEED)
  const now = Date.now()
  const activeAt = people.map(() => now - integer(random, ACTIVE_WITHIN_MS))
  await sendAll(target, matchProfiles, people, (person, index) => {
    const decision = { view: profileOf(person, activeAt[index]), result: null }
    return [person.userId, decision, activeAt[index]]
  })
  await sendAll(target, locationUpdates, people, ({ userId, place }, index) => {
    const update = { user_id: userId, ...place, accuracy_m: 20, ts: activeAt[index] }
    return [userId, update, activeAt[index]]
  })
}

/**
 * Writes swipes as the API would. Even for old swipes, the record timestamp is the current time, because Kafka would
 * delete older records.
 */
export function seedSwipes(target: SeedTarget, swipes: readonly SwipeEvent[]): Promise<void> {
  const now = Date.now()
  return sendAll(target, swipeEvents, swipes, (swipe) => [swipe.swiper_id, swipe, now])
}

/** Sends one record per item and waits until all are acknowledged. */
export async function sendAll<Thing, K, V>(
  { transport, registry }: SeedTarget,
  topic: Topic<K, V>,
  things: Iterable<Thing>,
  recordOf: (thing: Thing, index: number) => readonly [key: K, value: V, timestamp: number],
): Promise<void> {
  const producer = await topicProducer(topic)(transport, registry)
  let index = 0
  for (const thing of things) {
    producer.send(...recordOf(thing, index++))
    if (producer.isFull) await producer.flush()
  }
  await producer.flush()
  await producer.close()
}

function profileOf({ userId, name, birthDate, gender, seekingGender, minAge, maxAge, maxDistanceKm }: Person, at: number): MatchProfile {
  return {
    user_id: userId,
    display_name: name,
    birth_date: birthDate,
    gender,
    seeking_gender: [...seekingGender],
    bio: BIO,
    min_age_pref: minAge,
    max_age_pref: maxAge,
    max_dist_km: maxDistanceKm,
    is_active: true,
    photo_urls: [1, 2].map((photo) => `https://photos.example/${userId}/${photo}.jpg`),
    created_at: at - YEAR_MS,
    updated_at: at,
    deleted_at: null,
  }
}
