import { decimalId } from '../../../schemas/keys.ts'
import type { UserSelf } from '../../../schemas/recommendations/types.ts'
import { seenSetReader } from '../../../state/stores/seen-set/reader.ts'
import { countsOf } from '../judge.ts'
import { pastEvents, timedItems } from './bytes.ts'
import type { Evidence, Logs } from './evidence.ts'
import { countedEvents, type ExpectedUser, expectedUser, newestOf, saysYes, type UserEvent } from './user-fold.ts'

/**
 * The documented limits of the set of watched items (docs/services/recommendations.md): items stay in it for 90 days,
 * and with 20,000 items, at most one in a thousand other items counts as watched by mistake.
 */
const WATCHED = { capacity: 20_000, errorRate: 0.001, lifetimeMs: 90 * 86_400_000 }
const MOST_SHOWN = 100
const watchedSet = seenSetReader({ item: decimalId, ...WATCHED })

/** Checks that the features of each user, in the topic and in Redis, equal those that the log requires. */
export function features({ users, items, logs, views }: Evidence): string[] {
  const events = countedEvents(logs)
  return users.flatMap((user) => {
    const own = events.get(user) ?? []
    const expected = expectedUser(own)
    return [
      ...compared(`the topic's features of ${user}`, { user, expected, own, logs }, logs.features.get(user)),
      ...compared(`the features of ${user} in Redis`, { user, expected, own, logs }, views.features.get(user)),
      ...watched(`the topic's watched items of ${user}`, items, expected, logs.pages.get(user)),
      ...watched(`the watched items of ${user} in Redis`, items, expected, views.pages.get(user)),
    ]
  })
}

interface Known {
  readonly user: string
  readonly expected: ExpectedUser
  readonly own: readonly UserEvent[]
  readonly logs: Logs
}

function compared(what: string, { user, expected, own, logs }: Known, is: UserSelf | undefined): string[] {
  if (is === undefined) return [`${what} are missing`]
  const properties = newestOf(logs.users, user)
  const stated = newestOf(logs.preferences, user)
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['through_offset', is.through_offset, expected.through],
    ['interactions', is.interactions, expected.interactions],
    ['last_event_at', is.last_event_at, expected.lastEventAt],
    ['session_started_at', is.session_started_at, expected.sessionFrom],
    ['viewed', timedItems(is.viewed), expected.viewed],
    ['session', timedItems(is.session), expected.session],
    ['history', pastEvents(is.history), expected.history],
    ['hidden', timedItems(is.hidden), expected.hidden],
    ['country', is.country, properties?.country ?? null],
    ['language', is.language, properties?.language ?? null],
    ['age_bucket', is.age_bucket, properties?.age_bucket ?? null],
    ['sub_tier', is.sub_tier, properties?.sub_tier ?? null],
    ['preferences', is.preferences, stated?.preferences ?? []],
  ]
  return [
    ...pairs
      .filter(([, one, other]) => JSON.stringify(one) !== JSON.stringify(other))
      .map(([name, one, other]) => `${what}: ${name} is ${JSON.stringify(one)} instead of ${JSON.stringify(other)}`),
    ...shown(what, { user, own, logs }, is),
  ]
}

/**
 * Checks the field `shown`: items from served lists that the user has not viewed. Served lists and the events that
 * remove items from this field are in different topics, so the exact result depends on the order in which the pipeline
 * read them. In any order, the field contains those of the last 100 shown items that the user did not view, and no
 * items that were not shown.
 */
function shown(what: string, { user, own, logs }: Omit<Known, 'expected'>, is: UserSelf): string[] {
  const listed = logs.served
    .filter(({ key, value }) => String(key) === user && value !== null)
    .flatMap(({ value }) => value!.items.map(({ item_id }) => `${item_id} at ${Math.floor(value!.served_at / 1_000)}`))
  const secondsOf = (entry: string) => Number(entry.split(' at ')[1])
  const viewed = new Set(own.filter(saysYes).map(({ item_id }) => String(item_id)))
  const here = countsOf(timedItems(is.shown).map(({ item, seconds }) => `${item} at ${seconds}`))
  const faults: string[] = []
  const served = countsOf(listed)
  for (const [entry, times] of here)
    if (times > (served.get(entry) ?? 0))
      faults.push(`${what}: shown has ${entry} ${times} times, and it was served ${served.get(entry) ?? 0} times`)
  for (const [entry, times] of served) {
    if (viewed.has(entry.split(' at ')[0])) continue
    const notOlder = listed.filter((other) => secondsOf(other) >= secondsOf(entry)).length
    if (notOlder > MOST_SHOWN || here.get(entry) === times) continue
    faults.push(`${what}: shown has ${entry} ${here.get(entry) ?? 0} times, and it was served ${times} times`)
  }
  return faults
}

function watched(
  what: string,
  items: readonly string[],
  expected: ExpectedUser,
  pages: ReadonlyMap<number, Uint8Array> = new Map(),
): string[] {
  const set = watchedSet.open((page) => pages.get(page), Date.now())
  const wrong = items.filter((item) => set.has(BigInt(item)) !== expected.watched.has(item))
  return wrong.map((item) => `${what}: ${item} ${expected.watched.has(item) ? 'is missing' : 'was not watched'}`)
}
