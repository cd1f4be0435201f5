import { randomUUID } from 'node:crypto'

/** What a caller may give: it is echoed in a header and written to logs, so only harmless characters and a bounded length. */
const ACCEPTED = /^[A-Za-z0-9._:-]{1,128}$/

/** The caller's id where it is acceptable, else a new one. */
export function requestIdFrom(given: string | null | undefined): string {
  return typeof given === 'string' && ACCEPTED.test(given) ? given : randomUUID()
}
