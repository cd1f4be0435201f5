import type { Page } from './page.ts'

/**
 * Number of entries after which a new run begins. A full page forgets a whole run, so runs must be a small part of it.
 */
const MAX_RUN_ENTRIES = 56

/** Returns the start of the newest run that contains the fingerprint; undefined if there is none. */
export function newestStartWith(page: Page, fingerprint: number): number | undefined {
  return page.find(({ fingerprints }) => fingerprints[placeOf(fingerprints, fingerprint)] === fingerprint)?.start
}

/** Removes the runs that started before `oldest`. */
export function dropBefore(page: Page, oldest: number): void {
  while (page.length > 0 && page[page.length - 1].start < oldest) page.pop()
}

/**
 * Adds the fingerprint to the run of its time, or to a new run, and removes it from older runs.
 * @param span maximum difference between an item's time and the start of its run
 */
export function addFingerprint(page: Page, time: number, span: number, fingerprint: number): void {
  let at = page.findIndex(({ start }) => start <= time)
  if (at < 0) at = page.length
  const run = page[at]
  // Late items go to an older run, regardless of its length, because runs do not overlap.
  const joins = run !== undefined && time <= run.start + span && (at > 0 || run.fingerprints.length < MAX_RUN_ENTRIES)
  if (!joins) page.splice(at, 0, { start: time, fingerprints: [] })
  const { fingerprints } = page[at]
  const place = placeOf(fingerprints, fingerprint)
  if (fingerprints[place] !== fingerprint) fingerprints.splice(place, 0, fingerprint)
  for (let older = page.length - 1; older > at; older--) removeFrom(page, older, fingerprint)
}

function removeFrom(page: Page, run: number, fingerprint: number): void {
  const { fingerprints } = page[run]
  const place = placeOf(fingerprints, fingerprint)
  if (fingerprints[place] !== fingerprint) return
  fingerprints.splice(place, 1)
  if (fingerprints.length === 0) page.splice(run, 1)
}

/** Returns the index of the first number that is at least `value`, by binary search. */
function placeOf(ascending: readonly number[], value: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle] < value) low = middle + 1
    else high = middle
  }
  return low
}
