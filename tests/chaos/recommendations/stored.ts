import { differences } from '../judge.ts'
import type { Evidence } from './evidence.ts'
import { countedEvents } from './user-fold.ts'

/** Checks that ClickHouse contains each event once, as first sent, and each item of a served list once. */
export function stored({ logs, tables }: Evidence): string[] {
  const events = [...countedEvents(logs)].flatMap(([user, own]) =>
    own.map(({ event_id, item_id, timestamp }) => `${user} ${event_id} ${item_id} ${timestamp}`),
  )
  const rows = tables.interactions.map(({ user_id, event_id, item_id, at }) => `${user_id} ${event_id} ${item_id} ${at}`)
  // A retried send may have put a list into the log twice.
  const answers = logs.served.flatMap(({ value }) =>
    (value?.items ?? []).map(({ item_id, position }) => `${value?.request_id} ${position} ${item_id} ${value?.served_at}`),
  )
  const served = tables.served.map(({ request_id, position, item_id, at }) => `${request_id} ${position} ${item_id} ${at}`)
  return [
    ...differences('the table of interactions', events.sort(), rows.sort()),
    ...differences('the table of answers', [...new Set(answers)].sort(), served.sort()),
  ]
}
