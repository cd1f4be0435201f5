import { described, type Item, isList } from './answered.ts'
import type { Call, Evidence } from './evidence.ts'
import { countedEvents, expectedUser } from './user-fold.ts'

/**
 * Checks that no first page is empty, that each list is consistent with its features, and that all lists are up to date
 * after the recovery. A list with older features than an earlier list must be marked as degraded.
 */
export function lists(evidence: Evidence): string[] {
  const all = [...evidence.calls, ...evidence.final].filter((call) => isList(call) && call.status === 200)
  return [...seen(all, evidence), ...empty(all), ...goneBack(all), ...behind(evidence)]
}

/**
 * Checks that no list contains items that the user had watched or hidden according to the events up to the list's
 * `features_offset`.
 */
function seen(all: readonly Call[], { logs }: Evidence): string[] {
  const events = countedEvents(logs)
  return all.flatMap((call) => {
    const { features_offset, recommendations } = call.body
    const own = (events.get(call.user) ?? []).filter(({ offset }) => offset <= features_offset)
    const { watched, hidden } = expectedUser(own)
    const gone = new Set([...watched, ...hidden.map(({ item }) => item)])
    const wrong = (recommendations as Item[]).filter(({ item_id }) => gone.has(item_id))
    return wrong.map(
      ({ item_id }) => `item ${item_id} is in a list although an event up to offset ${features_offset} excludes it: ${described(call)}`,
    )
  })
}

/**
 * Checks that no first page is empty, because there are always items that the user has not seen. A later page may be
 * empty if all of its items were watched or hidden in the meantime.
 */
function empty(all: readonly Call[]): string[] {
  return all
    .filter(({ kind, body }) => kind === 'list' && body.recommendations.length === 0)
    .map((call) => `an empty list: ${described(call)}`)
}

/** Checks that a list computed from older features than an earlier list of the same user is marked as degraded. */
function goneBack(all: readonly Call[]): string[] {
  const faults: string[] = []
  for (const own of Map.groupBy(all, ({ user }) => user).values()) {
    for (const later of own) {
      if ((later.body.degraded as string[]).includes('features')) continue
      const before = own.find((call) => call.to <= later.from && call.body.features_offset > later.body.features_offset)
      if (before !== undefined)
        faults.push(`a list with older features than an earlier list with offset ${before.body.features_offset}: ${described(later)}`)
    }
  }
  return faults
}

/** Checks that the lists after the recovery are based on the last event of their users, and are not degraded. */
export function behind({ final, logs }: Pick<Evidence, 'final' | 'logs'>): string[] {
  const events = countedEvents(logs)
  return final
    .filter(({ user, body }) => body.features_offset !== (events.get(user)?.at(-1)?.offset ?? -1) || body.degraded.length > 0)
    .map((call) => `the last list is outdated or degraded: ${described(call)}`)
}
